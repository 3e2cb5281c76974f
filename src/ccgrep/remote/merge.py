"""Merges the sessions of a head into the store. docs/remotes.md has the rule.

A session of another machine gets a row without watermarks, made from its manifest alone.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from ccgrep.ingest.continuation import continues, mark_copy
from ccgrep.ingest.namesakes import find_free_id
from ccgrep.model import Entry, ObjectId, Turn
from ccgrep.remote.export import list_needed
from ccgrep.remote.head import SharedSession
from ccgrep.remote.incoming import Incoming
from ccgrep.store.commit import Commit
from ccgrep.store.gc import is_forgotten
from ccgrep.store.manifest import Manifest, Provenance, Row, SourceFile, forgotten_key
from ccgrep.store.objects import decode

Origin = tuple[str, str]
"""A machine, and the id of a session there."""


class SessionMerge:
    """The sessions of a commit, by id and by the machine that they came from."""

    def __init__(self, commit: Commit, incoming: Incoming) -> None:
        self._commit = commit
        self._incoming = incoming
        self._forgotten = set(commit.snapshot.forgotten)
        self._namesakes: dict[str, set[str]] = {}
        self._origins: dict[Origin, str] = {}
        self.merged = 0
        for row in commit.rows():
            self._register(row)

    def find_new(self, sessions: Iterable[SharedSession]) -> list[SharedSession]:
        """Return the sessions that may differ from what the store has.

        Those that replace a known version come first. If a transcript was rewritten, the session
        that keeps its old turns is then compared with the new turns, not with the old ones.
        """
        known, unknown = [], []
        for session in sessions:
            id = self._origins.get((session.machine, session.id))
            row = self._commit.row(id) if id is not None else None
            if row is None or row.provenance is None:
                unknown.append(session)
            elif row.provenance.changed < session.changed or _may_add_bytes(row, session):
                known.append(session)
        return [*known, *unknown]

    def merge(self, shared: SharedSession) -> None:
        """Add a session, or the newer version of one, unless the store has all of it."""
        if forgotten_key(shared.id.partition("~")[0]) in self._forgotten:
            return  # Its objects may be purged already, so that its manifest cannot be read.
        manifest = decode(self._read(shared.manifest), Manifest)
        if is_forgotten(manifest.session, manifest, self._forgotten):
            return
        known = self._origins.get((shared.machine, shared.id))
        if known is not None:
            if self._is_newer(shared, manifest, self._commit.row(known)):
                self._put(known, shared, manifest)
            return
        base_id = manifest.session.id.partition("~")[0]
        rows = [
            row for id in sorted(self._namesakes.get(base_id, ())) if (row := self._commit.row(id))
        ]
        if any(self._has_all(row, manifest) for row in rows):
            return
        extended = [row for row in rows if self._is_extended(row, manifest, shared)]
        if extended:
            longest = max(extended, key=lambda row: row.session.turns)
            self._put(longest.session.id, shared, manifest, longest)
            return
        taken = self._namesakes.get(base_id, set())
        self._put(find_free_id(manifest.session.id, base_id, taken), shared, manifest)

    def _is_newer(self, shared: SharedSession, manifest: Manifest, row: Row | None) -> bool:
        """Return whether a version replaces the one here that came from the same machine.

        A machine that keeps only turns shares the sessions of others without their bytes.
        """
        if row is None or row.provenance is None or row.provenance.changed < shared.changed:
            return True
        return bool(manifest.stored) and not row.versions

    def _has_all(self, row: Row, manifest: Manifest) -> bool:
        """Return whether a session here has every turn of the other, in the same order."""
        mine, other = self._commit.manifest(row), manifest
        if not mine.session.has_transcript and other.session.has_transcript:
            return False
        if row.session.kind == "document":
            return _turns(mine.entries) == _turns(other.entries)
        if not other.session.has_transcript and mine.session.has_transcript:
            return self._prompts(other) <= self._prompts(mine)
        return continues(other.entries, mine.entries, self._load_turn)

    def _is_extended(self, row: Row, manifest: Manifest, shared: SharedSession) -> bool:
        """Return whether the other session continues one here, which it then replaces."""
        if shared.is_superseded or row.is_superseded or row.session.kind == "document":
            return False
        mine = self._commit.manifest(row)
        if not mine.session.has_transcript and manifest.session.has_transcript:
            return self._prompts(mine) <= self._prompts(manifest)
        return continues(mine.entries, manifest.entries, self._load_turn)

    def _put(
        self, id: str, shared: SharedSession, manifest: Manifest, old: Row | None = None
    ) -> None:
        """Store a session of another machine under an id, with all objects that it needs."""
        for needed in list_needed(shared.manifest, self._read):
            if needed != shared.manifest:
                self._incoming.add_to(self._commit, needed)
        manifest = replace(manifest, session=replace(manifest.session, id=id))
        before = old or self._commit.row(id)
        if before is not None and before.provenance is not None:
            manifest = self._keep_bytes(before, manifest)
        files: tuple[SourceFile, ...] = ()
        versions = manifest.stored
        is_gone = True
        if before is not None:
            is_longer = old is not None or before.session.turns != manifest.session.turns
            files = tuple(mark_copy(file, file.is_partial or is_longer) for file in before.files)
            is_gone = is_longer or before.is_gone
            if before.provenance is None:
                versions = tuple(dict.fromkeys((*before.versions, *versions)))
        row = Row(
            manifest.session,
            self._commit.put("manifest", manifest),
            files=files,
            is_gone=is_gone,
            is_superseded=shared.is_superseded,
            versions=versions,
            side_files=manifest.side_files,
            provenance=Provenance(shared.machine, shared.id, shared.changed),
        )
        self._commit.set_row(row)
        self._register(row)
        self.merged += 1

    def _keep_bytes(self, before: Row, manifest: Manifest) -> Manifest:
        """Return the manifest with the bytes here, if its machine has dropped only those.

        Bytes of fewer turns are dropped: `restore` would write them instead of all turns.
        """
        if manifest.stored or self._commit.manifest(before).entries != manifest.entries:
            return manifest
        side_files = manifest.side_files or before.side_files
        return replace(manifest, stored=before.versions, side_files=side_files)

    def _register(self, row: Row) -> None:
        self._namesakes.setdefault(row.base_id, set()).add(row.session.id)
        if row.provenance is not None:
            self._origins[row.provenance.machine, row.provenance.session] = row.session.id

    def _prompts(self, manifest: Manifest) -> set[str]:
        return {self._load_turn(entry.turn).prompt for entry in manifest.entries}

    def _load_turn(self, id: ObjectId) -> Turn:
        return decode(self._read(id), Turn)

    def _read(self, id: ObjectId) -> bytes:
        return self._incoming.read(self._commit, id)


def _may_add_bytes(row: Row, session: SharedSession) -> bool:
    """Return whether a session may have bytes that the same version of it here lacks."""
    is_same = row.provenance is not None and row.provenance.changed == session.changed
    return is_same and not row.versions and row.manifest != session.manifest


def _turns(entries: Iterable[Entry]) -> list[ObjectId]:
    return [entry.turn for entry in entries]
