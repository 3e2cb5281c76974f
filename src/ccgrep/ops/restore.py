"""Writes the stored bytes of transcripts back to where their client expects them.

A file that exists and differs is never overwritten without `is_forced`, which keeps a backup. A
restored file gets the current time: clients delete transcripts by their age.
"""

import os
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import StoreError, UsageError
from ccgrep.ingest.archive import has_stored_prefix
from ccgrep.sources.files import open_side_file
from ccgrep.store import fsio
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.lineage import add_descendants
from ccgrep.store.manifest import Row, SourceFile
from ccgrep.store.originals import iterate_parts, list_stored_files
from ccgrep.store.store import Store

State = Literal["missing", "present", "different", "restored", "replaced"]


class NotStoredError(StoreError):
    """The store has the turns of a session, or only its prompts, but not its bytes."""


class RestoredFile(Struct, frozen=True):
    """A file of a session, and its state on disk.

    `missing` and `different` are states before anything is written.
    """

    path: str
    size: int
    state: State
    backup: str = ""


class RestoreOptions(Struct, frozen=True):
    """Where and how to write files."""

    directory: str = ""  # instead of the client's own
    folder: str = ""  # instead of the folder of the session's transcript
    version: int | None = None  # of the transcript; None is the newest
    is_forced: bool = False
    is_dry_run: bool = False


def restore(config: Config, ref: str, options: RestoreOptions) -> list[RestoredFile]:
    """Write the transcript of a session, its sub-agents and side files, unless they exist.

    If any file differs and nothing may be replaced, write nothing.
    """

    def run(store: Store) -> list[RestoredFile]:
        files = _find_files(store, ref, options.version)
        found = [_check(file, _find_path(file, files[0], options)) for file in files]
        is_blocked = not options.is_forced and any(one.state == "different" for one in found)
        if options.is_dry_run or is_blocked:
            return found
        pairs = zip(files, found, strict=True)
        return [_write(store, file, one) for file, one in pairs]

    return read_consistently(config.store_dir, run)


def list_versions(config: Config, ref: str) -> list[SourceFile]:
    """Return the stored contents of a session's transcript, the oldest first."""

    def read(store: Store) -> list[SourceFile]:
        return _versions(refs.find_row(list(store.rows()), ref))

    return read_consistently(config.store_dir, read)


def _find_files(store: Store, ref: str, version: int | None) -> list[SourceFile]:
    """Return the stored files of a session and its sub-agents."""
    rows = list(store.rows())
    row = refs.find_row(rows, ref)
    chosen: dict[str, Row] = {}
    add_descendants(row, rows, chosen)
    if not any(file.parts for file in (*row.files, *row.versions)):
        raise NotStoredError(_explain_missing(row))
    files = _newest_files(store, chosen.values())
    if version is not None:
        versions = _versions(row)
        if not 1 <= version <= len(versions):
            raise UsageError(
                f"version {version} does not exist (the session has {len(versions)}): "
                "use --versions to list them"
            )
        wanted = versions[version - 1]
        files = [wanted, *(file for file in files if file.path != wanted.path)]
    return files


def _explain_missing(row: Row) -> str:
    id = row.session.id
    if row.session.is_prompt_only:
        return f"only the prompts of {id} are known, so it cannot be restored"
    return f"the bytes of {id} are not stored: set keep to all and run `ccgrep index`"


def _versions(row: Row) -> list[SourceFile]:
    return [*row.versions, *(file for file in row.files[:1] if file.parts)]


def _newest_files(store: Store, rows: Iterable[Row]) -> list[SourceFile]:
    """Return the newest stored content of each path."""
    newest: dict[str, SourceFile] = {}
    for row in rows:
        transcripts = [file for file in row.files if file.parts] or row.versions[-1:]
        side_files = list_stored_files(replace(row, files=(), versions=()), store.read)
        newest |= {file.path: file for file in (*transcripts, *side_files)}
    return list(newest.values())


def _find_path(file: SourceFile, transcript: SourceFile, options: RestoreOptions) -> str:
    """Return where to write a file. The first file of a session is its transcript."""
    if options.folder:
        below = os.path.relpath(file.path, os.path.dirname(transcript.path))
        return os.path.join(options.folder, below)
    if options.directory:
        return os.path.join(options.directory, os.path.relpath(file.path, file.root))
    return file.path


def _check(file: SourceFile, path: str) -> RestoredFile:
    return RestoredFile(path, file.stored_bytes, _find_state(path, file))


def _find_state(path: str, file: SourceFile) -> State:
    """Return whether a file exists and starts with the stored bytes. It may have grown since."""
    if not os.path.lexists(path):
        return "missing"
    opened = open_side_file(path)
    if opened is None:
        return "different"
    with opened:
        return "present" if has_stored_prefix(opened, file) else "different"


def _write(store: Store, file: SourceFile, found: RestoredFile) -> RestoredFile:
    if found.state == "present":
        return found
    backup = ""
    if found.state == "different":
        backup = _free_name(f"{found.path}.bak")
        fsio.rename(found.path, backup)
    directory = os.path.dirname(found.path)
    fsio.make_dir(directory)
    new = fsio.NewFile(directory, ".ccgrep-restore")
    try:
        for data in iterate_parts(file.parts, store.read):
            new.write(data)
        new.publish(found.path)
    finally:
        new.discard()
    return RestoredFile(found.path, found.size, "replaced" if backup else "restored", backup)


def _free_name(path: str) -> str:
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = f"{path}{number}"
    return name
