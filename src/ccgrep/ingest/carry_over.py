"""Carries sessions over from an old store that its source files no longer contain.

These are sessions whose transcript is gone, superseded ones, and turns that a rewritten file or a
deleted spill held. The old store may be damaged: what cannot be read stays behind.
"""

import time
from collections.abc import Iterable

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.ingest.carry_over_bytes import (
    add_missing_bytes,
    carry_over_histories,
    copy_files,
    copy_side_files,
)
from ccgrep.ingest.namesakes import find_free_id
from ccgrep.ingest.versions import strip_watermarks
from ccgrep.model import Turn
from ccgrep.sources.scan import Scan
from ccgrep.store import refs
from ccgrep.store.commit import Commit
from ccgrep.store.fsck import newest_rows
from ccgrep.store.manifest import Manifest, Mark, Row, Snapshot
from ccgrep.store.marks import follow_turns
from ccgrep.store.store import Store


def carry_over_forgotten(store: Store, old: Store) -> None:
    """Copy the forgotten keys. Call this before anything is ingested into the new store."""
    forgotten = {*refs.read_forgotten(old.directory), *_snapshot(old).forgotten}
    if forgotten:
        refs.write_forgotten(store.directory, sorted(forgotten))


def carry_over(store: Store, old: Store, scan: Scan) -> int:
    """Copy the sessions of `old` that `store` lacks, and return their number."""
    copied_sessions = 0
    with Commit(store) as commit:
        known: dict[str, list[Row]] = {}
        for row in commit.rows():
            known.setdefault(row.base_id, []).append(row)
        for row in _readable_rows(old):
            try:
                manifest = old.manifest(row)
            except StoreError:
                continue
            namesakes = known.setdefault(row.base_id, [])
            if not _is_contained(manifest, old, namesakes, commit):
                namesakes.append(_copy(row, manifest, old, commit, namesakes, scan))
                copied_sessions += 1
            elif (same := commit.row(row.session.id)) is not None:
                add_missing_bytes(same, row, old, commit)
        hints = carry_over_histories(_snapshot(old), old, commit)
        marks = _carry_over_marks(_snapshot(old).marks, commit)
        commit.commit(time.time_ns() // 1_000_000, hints=hints, marks=marks)
    return copied_sessions


def _carry_over_marks(marks: tuple[Mark, ...], commit: Commit) -> tuple[Mark, ...]:
    """Return the marks of the old store for the turns as the new one has them."""
    if not marks:
        return ()
    refs.require_features(commit.store.directory, ["marks"])
    bases = {mark.session.partition("~")[0] for mark in marks}
    rows = {row.session.id: row for row in commit.rows() if row.base_id in bases}
    return follow_turns(marks, rows, commit.manifest)


def _snapshot(old: Store) -> Snapshot:
    try:
        return old.snapshot()
    except StoreError:
        return Snapshot()


def _readable_rows(old: Store) -> list[Row]:
    rows: list[Row] = []
    for name, id in _snapshot(old).shards.items():
        try:
            rows += old.rows(Snapshot(shards={name: id}))
        except StoreError:
            continue
    return rows or newest_rows(old)


def _is_contained(manifest: Manifest, old: Store, namesakes: Iterable[Row], commit: Commit) -> bool:
    """Return whether one session of the new store has all turns of an old one."""
    turns = {entry.turn for entry in manifest.entries}
    held = [{e.turn for e in commit.manifest(row).entries} for row in namesakes]
    if any(turns <= other for other in held) or not turns:
        return True
    if manifest.session.has_transcript:
        return False
    prompts = {old.load(turn, Turn).prompt for turn in turns}
    return any(prompts <= {commit.load_turn(t).prompt for t in other} for other in held)


def _copy(
    row: Row, manifest: Manifest, old: Store, commit: Commit, namesakes: list[Row], scan: Scan
) -> Row:
    """Copy a manifest and every turn that can be read."""
    for entry in manifest.entries:
        try:
            commit.add(old.read_frame(entry.turn))
        except StoreError:
            continue
    taken = {other.session.id for other in namesakes}
    id = find_free_id(row.session.id, row.base_id, taken)
    present = tuple(file for file in row.files if file.path in scan.files)
    session = replace(row.session, id=id)
    files = copy_files(row.files, old, commit)
    versions = strip_watermarks(copy_files(row.versions, old, commit))
    stored = (*versions, *strip_watermarks(files))
    side_files = copy_side_files(row, old, commit)
    new_manifest = replace(
        manifest, session=session, state=b"", stored=stored, side_files=side_files
    )
    copied = Row(
        session,
        commit.put("manifest", new_manifest),
        files=() if present else files,
        is_gone=not present and (row.is_gone or bool(row.files)),
        is_superseded=row.is_superseded or bool(present),
        versions=stored if present else versions,
        side_files=side_files,
        provenance=row.provenance,
    )
    commit.set_row(copied)
    return copied
