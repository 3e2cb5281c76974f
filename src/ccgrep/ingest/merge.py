"""Merges what was read of a file into the sessions of a commit.

A file belongs to the session with its id. Two files with one id are one session if the turns of
one are a prefix of the other's: the longer file defines the session, the other is a copy. If one
begins after the other ends, both were read as one file. Otherwise the second becomes a session of
its own, `<id>~2`. When a file is rewritten, its earlier turns stay as a superseded session, unless
the new turns contain all of them.

A session whose transcript was never read is recovered from what its workers copied. Its own
transcript replaces it. What only a worker holds stays as a superseded session.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from ccgrep.ingest.continuation import continues, defines, extent, mark_copy
from ccgrep.ingest.file_reader import FileResult
from ccgrep.ingest.namesakes import Namesakes
from ccgrep.ingest.retitle import keep_side_values
from ccgrep.ingest.versions import Parts, keep_versions, strip_watermarks
from ccgrep.model import Entry
from ccgrep.sources.reading import SessionReading, add_totals
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import (
    Manifest,
    Row,
    SideFiles,
    SourceFile,
    conversation_keys,
    forgotten_key,
)


class Merge:
    """The sessions of a commit, and the files they were read from."""

    def __init__(self, commit: Commit, rows: Iterable[Row], present: Collection[str]) -> None:
        self.commit = commit
        self._present = present
        self._owners: dict[str, set[str]] = {}
        self.files: dict[str, SourceFile] = {}
        self.forgotten = set(commit.snapshot.forgotten)
        self.is_forgotten_seen = False
        self.new_sessions = 0
        self.merged_ids: set[str] = set()
        self.garbage_bytes = 0
        self._dropped_parts: set[Parts] = set()
        self._rows_before: dict[str, Row] = {}
        for row in rows:
            self._rows_before[row.session.id] = row
            for file in row.files:
                self._owners.setdefault(file.path, set()).add(row.session.id)
                self.files[file.path] = file
        self._namesakes = Namesakes(commit, self._rows_before.values())

    def rows(self) -> list[Row]:
        """Return every session as it is now, without reading the shards again."""
        return list({**self._rows_before, **self.commit.loaded_rows()}.values())

    def owners(self, path: str) -> list[Row]:
        """Return the sessions read from a file, the main session first."""
        rows = map(self.commit.row, sorted(self._owners.get(path, ())))
        return sorted(filter(None, rows), key=lambda row: row.session.kind != "main")

    def merge(self, result: FileResult) -> set[str]:
        """Merge what was read of a file into the commit, and return the ids of its sessions."""
        file = result.file
        if file is None:
            return set()
        if result.reading is None:
            self._update_stat(file)
            return set()
        self._drop_extended(result)
        placed: set[str] = set()
        for position, reading in enumerate(map(self._map_back, result.reading.sessions)):
            if self._is_forgotten(reading):
                self.is_forgotten_seen = True
                if len(result.reading.sessions) == 1:
                    self.forgotten.add(forgotten_key(file.path))
                continue
            if reading.is_inherited:
                self._recover(reading)
                continue
            state = b"" if position else result.reading.state
            placed.add(self._place(reading, file, state, result))
        for id in placed:
            self._add_earlier_files(id, result.earlier)
            self._set_side_files(id, result.side_files)
        for row in self.owners(file.path):
            if row.session.id not in placed:
                left = tuple(known for known in row.files if known.path != file.path)
                self._set_row(replace(row, files=left, is_gone=row.is_gone or not left))
        self._owners[file.path] = placed
        self.merged_ids |= placed
        return placed

    def add_imported(self, reading: SessionReading) -> bool:
        """Store a session that was read from no file of a root; return whether it may be stored.

        If it was imported before, the new turns replace the old ones. Turns that the new ones lack
        stay as a superseded session. What a transcript holds already is not imported.
        """
        if self._is_forgotten(reading):
            self.is_forgotten_seen = True
            return False
        source, load = reading.session.source, self.commit.load_turn
        for row in self._namesakes.find(reading.session.id):
            if row.session.source != source:
                continue
            old = self.commit.manifest(row).entries
            if continues(reading.entries, old, load):
                return True
            if not row.files:
                if not continues(old, reading.entries, load):
                    self._supersede(row, reading.entries)
                self._write(row.session.id, reading, (), b"")
                return True
        self.new_sessions += 1
        self._write(self._namesakes.take_free_id(reading.session.id), reading, (), b"")
        return True

    def _map_back(self, reading: SessionReading) -> SessionReading:
        """Return a reading with stored turns in place of those that ccgrep rebuilt from them."""
        if not reading.claims:
            return reading
        from ccgrep.ingest.rebuilt_turns import map_back  # noqa: PLC0415 - rare

        return map_back(reading, self._namesakes.find(reading.session.id), self.commit)

    def _add_earlier_files(self, id: str, earlier: tuple[SourceFile, ...]) -> None:
        """Record the files that a session's last one continues."""
        row = self.commit.row(id)
        if row is None or not earlier:
            return
        paths = {file.path for file in earlier}
        files = (*(file for file in row.files if file.path not in paths), *earlier)
        self._set_row(replace(row, files=files))
        for path in paths:
            self._owners.setdefault(path, set()).add(id)

    def _drop_extended(self, result: FileResult) -> None:
        """Drop the stored bytes of a file if its new ones contain them."""
        known = self.files.get(result.path)
        if known is not None and result.file is not None and result.is_extended:
            self._drop_parts(known, result.file)

    def _drop_parts(self, known: SourceFile, file: SourceFile) -> None:
        """Keep no version of a file's former bytes, and count them as garbage."""
        if known.parts != file.parts:
            self._dropped_parts.add(known.parts)
        for part in set(known.parts) - set(file.parts):
            self.garbage_bytes += self.commit.store.frame_size(part.id)

    def _set_side_files(self, id: str, files: tuple[SourceFile, ...] | None) -> None:
        """Add the files that belong to a transcript to those of the session."""
        row = self.commit.row(id)
        if row is None or not files:
            return
        known = self.commit.load(row.side_files, SideFiles).files if row.side_files else ()
        all_files = {(file.path, file.parts): file for file in (*known, *files)}
        side_files = self.commit.put("side_files", SideFiles(tuple(all_files.values())))
        if side_files != row.side_files:
            self.put(replace(row, side_files=side_files), self.commit.manifest(row))

    def _is_forgotten(self, reading: SessionReading) -> bool:
        if not self.forgotten:
            return False
        session, entries = reading.session, reading.entries
        keys = {forgotten_key(session.id), forgotten_key(session.parent)}
        keys.update(conversation_keys(session.id, entries))
        return bool(keys & self.forgotten)

    def mark_gone(self, path: str) -> None:
        """Record that a file was deleted. Its session stays."""
        for row in self.owners(path):
            left = self._complete_files(row)
            self._set_row(replace(row, files=left) if left else replace(row, is_gone=True))

    def mark_restored(self, rows: Iterable[Row]) -> None:
        """Record that deleted files exist again."""
        for row in rows:
            if row.is_gone and (files := self._complete_files(row)):
                self._set_row(replace(row, files=files, is_gone=False))

    def _complete_files(self, row: Row) -> tuple[SourceFile, ...]:
        """Return the existing files, a complete one first, or () if none is complete."""
        present = [file for file in row.files if file.path in self._present]
        present.sort(key=lambda file: file.is_partial)
        return tuple(present) if present and not present[0].is_partial else ()

    def put(self, row: Row, manifest: Manifest) -> None:
        """Store a session's manifest and row, replacing earlier ones."""
        old = self.commit.row(row.session.id)
        row = keep_versions(old, row, self._dropped_parts)
        stored = strip_watermarks((*row.versions, *row.files))
        manifest = replace(manifest, stored=stored, side_files=row.side_files)
        if old is not None:
            before = self.commit.manifest(old)
            if replace(manifest, revision=before.revision) == before:
                manifest = before
            else:
                manifest = replace(manifest, revision=before.revision + 1)
                self._count_garbage(old, before, manifest)
        id = self.commit.put("manifest", manifest)
        self._set_row(replace(row, manifest=id))

    def _set_row(self, row: Row) -> None:
        """Store a session's row, with the stored bytes of the row that it replaces."""
        old = self.commit.row(row.session.id)
        self.commit.set_row(keep_versions(old, row, self._dropped_parts))

    def _count_garbage(self, row: Row, before: Manifest, after: Manifest) -> None:
        kept = {entry.turn for entry in after.entries}
        lost = [entry.turn for entry in before.entries if entry.turn not in kept]
        store = self.commit.store
        self.garbage_bytes += sum(map(store.frame_size, [row.manifest, *lost]))

    def _update_stat(self, file: SourceFile) -> None:
        """Record the new stat of a file whose content did not change."""
        for row in self.owners(file.path):
            files = tuple(
                replace(file, is_partial=known.is_partial) if known.path == file.path else known
                for known in row.files
            )
            self._set_row(replace(row, files=files, is_gone=False))

    def _place(
        self, reading: SessionReading, file: SourceFile, state: bytes, result: FileResult
    ) -> str:
        """Store a reading in the session it belongs to, or in a new one; return the id."""
        source = reading.session.source
        rows = [r for r in self._namesakes.find(reading.session.id) if r.session.source == source]
        rows.sort(key=lambda row: all(known.path != file.path for known in row.files))
        for row in rows:
            if self._try_join(row, reading, file, state, result):
                return row.session.id
        self.new_sessions += 1
        id = self._namesakes.take_free_id(reading.session.id)
        return self._write(id, reading, (file,), state)

    def _try_join(
        self, row: Row, reading: SessionReading, file: SourceFile, state: bytes, result: FileResult
    ) -> bool:
        """Merge a reading into a session if it belongs there; return whether it does."""
        if reading.lacks_output:
            from ccgrep.ingest.side_outputs import restore_outputs  # noqa: PLC0415 - rare

            reading = restore_outputs(reading, self.commit.manifest(row).entries, self.commit)
        id, new = row.session.id, reading.entries
        is_own = defines(file, row)
        others = tuple(f for f in row.files if f.path != file.path)
        present = tuple(f for f in others if f.path in self._present)
        if row.session.is_recovered and row.session.source == "claude_code" and new:
            self._keep_missing(row, self.commit.manifest(row).entries, new)
            self._write(id, reading, (file,), state)
            return True
        # A partial file was cut: what follows its watermark does not extend the session.
        is_whole = is_own and not row.files[0].is_partial
        if is_whole and (result.outcome == "appended" or (result.is_reread and new)):
            has_grown = file.end > row.files[0].end
            copies = (mark_copy(f, f.is_partial or has_grown) for f in others)
            self._write(id, reading, (file, *copies), state)
            return True
        if row.session.turns and not new:
            # The file is empty or was emptied: the known turns stay.
            is_gone = row.is_gone or (is_own and all(f.is_partial for f in present))
            files = (*others, mark_copy(file, True))
            self._set_row(replace(row, files=files, is_gone=is_gone))
            return True
        if not row.session.has_transcript:
            if not self._prompts(row) <= self._prompts(new):
                self._supersede(row, new)
            self._write(id, reading, (file,), state)
            return True
        is_rewritten = result.reading is not None and result.reading.is_rewritten
        return self._try_join_turns(row, reading, file, state, is_rewritten)

    def _try_join_turns(
        self,
        row: Row,
        reading: SessionReading,
        file: SourceFile,
        state: bytes,
        is_rewritten: bool,
    ) -> bool:
        """Do the same by comparing turns: one must extend the other, or the file is the row's."""
        old, new = self.commit.manifest(row).entries, reading.entries
        others = tuple(f for f in row.files if f.path != file.path)
        present = tuple(f for f in others if f.path in self._present)
        load = self.commit.load_turn
        grown, cut = continues(old, new, load), continues(new, old, load)
        is_own = defines(file, row)
        # A file that replaces a deleted one was moved.
        is_moved = bool(row.files) and row.files[0].path not in self._present
        if is_own and not grown and any(not f.is_partial for f in present):
            # The file was rewritten, but a copy still holds the session and takes its place.
            self._set_row(replace(row, files=present))
            return False
        is_longer = grown and extent(new) > extent(old)
        # No other existing file is complete: this one defines the session from now on.
        is_here = row.provenance is None
        is_only_whole = cut and is_here and all(f.is_partial for f in present)
        if is_own or is_longer or (is_moved and grown) or is_only_whole:
            if not grown:
                self._supersede(row, new)
            if is_own and is_rewritten:
                # The client rewrites the file all the time. A superseded session keeps its bytes.
                self._drop_parts(row.files[0], file)
            copies = (mark_copy(f, f.is_partial or is_longer) for f in present if grown)
            self._write(row.session.id, reading, (file, *copies), state)
        elif cut:
            copy = mark_copy(file, extent(new) < extent(old))
            self._set_row(replace(row, files=(*others, copy)))
        return is_own or grown or cut

    def _write(
        self, id: str, reading: SessionReading, files: tuple[SourceFile, ...], state: bytes
    ) -> str:
        old = self.commit.row(id)
        session = keep_side_values(old, replace(reading.session, id=id))
        manifest = Manifest(session, reading.entries, reading.bad, state)
        self.put(Row(session, manifest=b"", files=files), manifest)  # type: ignore[arg-type]
        return id

    def _add_prompts(self, entries: Sequence[Entry], row: Row) -> tuple[Entry, ...]:
        """Return `entries` with the other prompts of a prompt-only session, in order of time."""
        known, load = self._prompts(entries), self.commit.load_turn
        prompts = self.commit.manifest(row).entries
        others = (entry for entry in prompts if load(entry.turn).prompt not in known)
        return tuple(sorted((*entries, *others), key=lambda entry: entry.started or 0))

    def _prompts(self, of: Row | Sequence[Entry]) -> set[str]:
        entries = self.commit.manifest(of).entries if isinstance(of, Row) else of
        return {self.commit.load_turn(entry.turn).prompt for entry in entries}

    def _supersede(self, row: Row, new: Sequence[Entry]) -> None:
        """Keep the turns of a rewritten file as a session of their own, except a document's."""
        if row.session.kind == "document":
            return  # Agents rewrite documents all the time.
        old = self.commit.manifest(row).entries
        if not {entry.turn for entry in old} <= {entry.turn for entry in new}:
            self._keep_superseded(row, old)

    def _keep_superseded(self, row: Row, entries: Sequence[Entry]) -> None:
        turns = [entry.turn for entry in entries]
        for other in self._namesakes.find(row.base_id, is_superseded=True):
            if [entry.turn for entry in self.commit.manifest(other).entries] == turns:
                return
        manifest = self.commit.manifest(row)
        session = replace(row.session, id=self._namesakes.take_free_id(row.base_id))
        if len(entries) < len(manifest.entries):
            session = add_totals(session, entries)
        versions = strip_watermarks((*row.versions, *row.files))
        self._dropped_parts.update(file.parts for file in versions)
        self.put(
            replace(
                row,
                session=session,
                files=(),
                is_superseded=True,
                versions=versions,
                provenance=None,
            ),
            replace(manifest, session=session, entries=tuple(entries), state=b"", revision=0),
        )

    def _recover(self, reading: SessionReading) -> None:
        """Keep the turns that a worker copied, except those that the parent's transcript holds."""
        id, session, entries = reading.session.id, reading.session, reading.entries
        row = self.commit.row(id)
        if row is None:
            self.new_sessions += 1
            self._namesakes.add(id, id)
        elif row.session.is_recovered:
            from ccgrep.ingest.inherit import join_copies  # noqa: PLC0415 - rare

            session, entries = join_copies(row.session, self.commit.manifest(row).entries, reading)
        elif row.session.is_prompt_only:
            entries = self._add_prompts(entries, row)
            session = add_totals(session, entries)
        else:
            self._keep_missing(row, entries, self.commit.manifest(row).entries)
            return
        self.put(Row(session, b"", is_gone=True), Manifest(session, entries))  # type: ignore[arg-type]

    def _keep_missing(self, row: Row, copies: Sequence[Entry], own: Sequence[Entry]) -> None:
        """Keep the turns that only workers hold as a superseded session."""
        from ccgrep.ingest.inherit import find_missing  # noqa: PLC0415 - workers are rare

        if missing := find_missing(copies, own, self.commit.load_turn):
            self._keep_superseded(row, missing)

    def has_session(self, base_id: str) -> bool:
        """Return whether a transcript with that id was ingested, also as `<id>~2`."""
        return any(row.session.has_transcript for row in self._namesakes.find(base_id))
