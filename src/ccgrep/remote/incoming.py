"""Packs that were fetched from a remote, and the objects in them.

Each pack is compared with its name, and each object with its hash. The packs stay in `incoming/`
until their sessions are merged, so that an interrupted pull does not fetch them again.
"""

import os
from collections.abc import Mapping

from ccgrep.errors import MissingObjectError, UntrustedError
from ccgrep.model import ObjectId
from ccgrep.remote.local import LocalRemote, PackIds
from ccgrep.remote.remote import Remote
from ccgrep.remote.storage import ListedFile, MissingFileError
from ccgrep.steps import OnStep
from ccgrep.store import fsio
from ccgrep.store.commit import Commit
from ccgrep.store.objects import Frame, unpack_frame
from ccgrep.store.pack import Pack, pack_path
from ccgrep.store.store import Store


class Incoming:
    """The fetched packs of one remote, and those that can be fetched."""

    def __init__(
        self, local: LocalRemote, remote: Remote, listed: Mapping[str, ListedFile]
    ) -> None:
        self._local = local
        self._remote = remote
        self._listed = listed
        self._store = Store(local.incoming)
        fsio.make_dir(self._store.pack_dir)
        self._ids: dict[str, PackIds] = local.read_pack_ids()
        self._tried: set[str] = set()
        self.bytes = 0
        self.packs = 0
        self.problems: list[str] = []

    def fetch_new(self, names: set[str], on_step: OnStep) -> None:
        """Fetch the packs whose objects this machine does not know."""
        new = sorted((names & self._listed.keys()) - self._ids.keys())
        total, done = sum(self._listed[name].size for name in new), 0
        for name in new:
            on_step("bytes", done, total)
            self._fetch(name)
            done += self._listed[name].size

    def add_to(self, commit: Commit, id: ObjectId) -> None:
        """Add an object to a commit, unless the store has it."""
        if id not in commit.store:
            commit.add(self.find(id))

    def read(self, store: Store | Commit, id: ObjectId) -> bytes:
        """Return the content of an object, from the store or commit, else from a pack."""
        try:
            return store.read(id)
        except MissingObjectError:
            return unpack_frame(self.find(id))

    def discard(self) -> None:
        """Delete the packs: their sessions are merged."""
        self._store.close()
        fsio.remove_tree(self._local.incoming)

    def find(self, id: ObjectId) -> Frame:
        """Return an object. If its pack is known but was deleted here, fetch it again."""
        try:
            return self._store.read_frame(id)
        except MissingObjectError:
            holders = [name for name, ids in self._ids.items() if id in ids]
            for name in holders:
                if name in self._listed and name not in self._tried and self._fetch(name):
                    return self._store.read_frame(id)
            raise

    def _fetch(self, name: str) -> bool:
        """Fetch a pack, and return whether that worked."""
        self._tried.add(name)
        try:
            hash, content = self._remote.read_pack(name)
        except MissingFileError:
            return False  # Another machine has just deleted it.
        except UntrustedError as error:
            self.problems.append(str(error))
            return False
        fsio.publish(self._local.tmp_dir, pack_path(self._store.pack_dir, hash), content)
        pack = Pack(self._store.pack_dir, hash)  # Without an index, it verifies every object.
        pack.save_index(self._local.tmp_dir)
        self._local.write_pack_ids(name, pack.ids())
        self._ids[name] = PackIds(b"".join(pack.ids()))
        pack.close()
        self.packs += 1
        self.bytes += len(content)
        return True


def has_incoming(local: LocalRemote) -> bool:
    return os.path.isdir(local.incoming)
