"""Objects that other machines need and this one lacks, because it has a longer version.

A pack with such objects may have to be deleted, or may be gone already. Then this machine's head
lists other packs with them until their machine pushes again.
"""

from ccgrep.errors import CorruptError, UntrustedError
from ccgrep.model import ObjectId
from ccgrep.remote.export import list_needed
from ccgrep.remote.incoming import Incoming
from ccgrep.remote.local import LocalRemote, PackIds
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.storage import MissingFileError
from ccgrep.store.gc import is_forgotten
from ccgrep.store.manifest import Manifest
from ccgrep.store.objects import Frame, decode
from ccgrep.store.store import Store


class ForeignObjects:
    """The objects that other heads need, read from the packs of the remote."""

    def __init__(self, local: LocalRemote, remote: Remote, store: Store, listing: Listing) -> None:
        self._remote = remote
        self._store = store
        self._listing = listing
        self._incoming = Incoming(local, remote, listing.packs)
        self.ids: set[ObjectId] = set()

    def find(self, own: str, doomed: set[str], known: dict[str, PackIds]) -> None:
        """Find what other heads need of packs that are gone or `doomed`."""
        forgotten = set(self._store.snapshot().forgotten)
        for name in sorted(self._listing.heads.keys() - {own}):
            try:
                head = self._remote.read_head(name)
            except (MissingFileError, UntrustedError):
                continue
            if set(head.packs) <= self._listing.packs.keys() - doomed:
                continue
            for session in head.sessions:
                self._add(session.manifest, forgotten, known)

    def read_frame(self, id: ObjectId) -> Frame:
        return self._incoming.find(id)

    def discard(self) -> None:
        self._incoming.discard()

    def _add(self, id: ObjectId, forgotten: set[bytes], known: dict[str, PackIds]) -> None:
        """Add what a manifest needs, as far as it can be found."""
        try:
            manifest = decode(self._read(id), Manifest)
            if is_forgotten(manifest.session, manifest, forgotten):
                return
            needed = [one for one in list_needed(id, self._read) if one not in self._store]
        except CorruptError:
            return
        held = (one for one in needed if any(one in ids for ids in known.values()))
        self.ids.update(held)

    def _read(self, id: ObjectId) -> bytes:
        return self._incoming.read(self._store, id)
