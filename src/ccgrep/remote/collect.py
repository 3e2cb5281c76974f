"""Deletes what no head of a remote lists, after a grace period.

A push writes its packs before its head. The grace period keeps packs whose head is still missing.
"""

from msgspec import Struct

from ccgrep.errors import UntrustedError
from ccgrep.remote.remote import Listing, Remote


class CollectReport(Struct, frozen=True):
    """Packs and unfinished files that were deleted, and packs that are too young for it."""

    packs: int
    bytes: int
    kept: int


def delete_unlisted(remote: Remote, listing: Listing, before: float) -> CollectReport:
    """Delete packs that no head lists and that are older than `before`.

    A head that cannot be read may list any pack, so nothing is deleted then.
    """
    used: set[str] = set()
    for name in listing.heads:
        try:
            used.update(remote.read_head(name).packs)
        except UntrustedError as error:
            raise UntrustedError(f"{error}: delete it or repair it first") from None
    unlisted = [name for name in listing.packs if name not in used]
    old = [name for name in unlisted if listing.packs[name].modified < before]
    unfinished = [
        file for file in listing.others if file.path.startswith("tmp/") and file.modified < before
    ]
    for name in old:
        remote.delete_pack(name)
    for file in unfinished:
        remote.storage.delete(file.path)
    size = sum(listing.packs[name].size for name in old) + sum(file.size for file in unfinished)
    return CollectReport(len(old), size, len(unlisted) - len(old))
