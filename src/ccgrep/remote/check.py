"""Checks a remote: every head, the packs that it lists, and with `reads_data` every object."""

from msgspec import Struct, field

from ccgrep.errors import CorruptError, NewerVersionError, UntrustedError
from ccgrep.remote.export import list_needed
from ccgrep.remote.head import Head
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.storage import MissingFileError
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import fsio
from ccgrep.store.pack import Pack, pack_path
from ccgrep.store.store import Store


class RemoteCheck(Struct):
    """What a check found.

    Damaged files are refused by a pull; missing ones are pushed again. `unreadable` says which
    machines have pushed with a newer ccgrep.
    """

    heads: int = 0
    packs: int = 0
    objects: int = 0
    unlisted_packs: int = 0
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.damaged or self.missing or self.unreadable)


def check_remote(
    remote: Remote, reads_data: bool = False, on_step: OnStep = ignore_steps
) -> RemoteCheck:
    """Read the heads and compare them with the packs."""
    listing = remote.list()
    report = RemoteCheck(packs=len(listing.packs))
    heads = []
    for name in sorted(listing.heads):
        try:
            heads.append(remote.read_head(name))
        except NewerVersionError as error:
            report.unreadable.append(str(error))
        except (UntrustedError, MissingFileError) as error:
            report.damaged.append(str(error))
    for name in sorted(listing.tombstones):
        try:
            remote.read_tombstone(name)
        except UntrustedError as error:
            report.damaged.append(str(error))
    report.heads = len(heads)
    used = {name for head in heads for name in head.packs}
    report.unlisted_packs = len(listing.packs.keys() - used)
    for head in heads:
        for name in sorted(set(head.packs) - listing.packs.keys()):
            report.missing.append(f"packs/{name}{remote.key.suffix}, which '{head.name}' lists")
    if reads_data:
        with fsio.temporary_dir() as directory:
            _read_data(remote, listing, heads, Store(directory), report, on_step)
    return report


def _read_data(
    remote: Remote,
    listing: Listing,
    heads: list[Head],
    store: Store,
    report: RemoteCheck,
    on_step: OnStep,
) -> None:
    """Fetch every pack into a temporary store, and follow every session to its objects."""
    for directory in (store.pack_dir, store.tmp_dir):
        fsio.make_dir(directory)
    for name in count_steps(sorted(listing.packs), "packs read", len(listing.packs), on_step):
        report.objects += _read_pack(remote, name, store, report)
    for name in sorted(listing.vectors):
        _read_vectors(remote, name, report)
    holders = {shared.manifest: (shared.id, head) for head in heads for shared in head.sessions}
    sessions = count_steps(holders.items(), "sessions checked", len(holders), on_step)
    for manifest, (id, head) in sessions:
        try:
            for needed in list_needed(manifest, store.read):
                store.read(needed)
        except CorruptError:
            report.missing.append(f"objects of session {id} of '{head.name}'")


def _read_pack(remote: Remote, name: str, store: Store, report: RemoteCheck) -> int:
    """Fetch a pack, and return the number of its objects."""
    try:
        hash, content = remote.read_pack(name)
    except (UntrustedError, MissingFileError) as error:
        report.damaged.append(str(error))
        return 0
    fsio.publish(store.tmp_dir, pack_path(store.pack_dir, hash), content, is_hint=True)
    pack = Pack(store.pack_dir, hash)  # Without an index, it verifies every object.
    pack.save_index(store.tmp_dir)
    count = len(pack)
    pack.close()
    return count


def _read_vectors(remote: Remote, name: str, report: RemoteCheck) -> None:
    from ccgrep.semantic.vector_exchange import decode  # noqa: PLC0415 - imports numpy

    try:
        decode(remote.read_vectors(name))
    except MissingFileError:
        return  # Another machine has just deleted it.
    except ValueError as error:
        report.damaged.append(f"vectors/{name}{remote.key.suffix}: {error}")
    except UntrustedError as error:
        report.damaged.append(str(error))
