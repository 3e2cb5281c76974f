"""Deletes what no head of a remote lists, after a grace period.

A push writes its packs and vectors before its head. The grace period keeps those whose head is
still missing.
"""

from msgspec import Struct

from ccgrep.errors import NewerVersionError, UntrustedError
from ccgrep.remote.remote import Listing, Remote


class CollectReport(Struct, frozen=True):
    """What was deleted, and the number of packs that are too young for it.

    `bytes` also counts vectors and unfinished files.
    """

    packs: int
    bytes: int
    kept: int


def delete_unlisted(remote: Remote, listing: Listing, before: float) -> CollectReport:
    """Delete packs and vectors that no head lists and that are older than `before`.

    A head that cannot be read may list any pack, so nothing is deleted then.
    """
    used: set[str] = set()
    for name in listing.heads:
        try:
            head = remote.read_head(name)
        except NewerVersionError:
            raise
        except UntrustedError as error:
            raise UntrustedError(f"{error}: delete it or repair it first") from None
        used.update(head.packs, *head.vectors.values())
    unlisted = [name for name in listing.packs if name not in used]
    old = [name for name in unlisted if listing.packs[name].modified < before]
    unfinished = [
        file for file in listing.others if file.path.startswith("tmp/") and file.modified < before
    ]
    vectors = [
        name
        for name, file in listing.vectors.items()
        if name not in used and file.modified < before
    ]
    for name in old:
        remote.delete_pack(name)
    for name in vectors:
        remote.delete_vectors(name)
    for file in unfinished:
        remote.storage.delete(file.path)
    files = [listing.packs[name] for name in old] + [listing.vectors[name] for name in vectors]
    size = sum(file.size for file in (*files, *unfinished))
    return CollectReport(len(old), size, len(unlisted) - len(old))
