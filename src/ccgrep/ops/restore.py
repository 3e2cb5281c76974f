"""Writes transcripts back to where their client expects them.

The bytes are those that were stored. A session of which only turns are stored is rebuilt from them.
A file that exists and differs is never overwritten without `is_forced`, which keeps a backup. A
restored file gets the current time: clients delete transcripts by their age.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ccgrep import refs
from ccgrep.config import Config, client_root
from ccgrep.errors import CcgrepError, NotFoundError, UsageError
from ccgrep.ingest.archive import has_prefix
from ccgrep.paths import move_below
from ccgrep.rebuild.transcript import rebuild_transcript
from ccgrep.sources.files import open_side_file
from ccgrep.store import fsio
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.lineage import add_descendants
from ccgrep.store.manifest import Row, SourceFile
from ccgrep.store.originals import iterate_parts, list_stored_files
from ccgrep.store.store import Store

State = Literal["missing", "present", "different", "restored", "rebuilt", "replaced"]


class NotRestorableError(CcgrepError):
    """The store has neither the bytes of a session nor all of its turns."""


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


class _Content(Struct, frozen=True):
    """A file to write: where it was, its size, and how to read its bytes."""

    path: str
    root: str
    size: int
    crc: int
    read: Callable[[], Iterator[bytes]]
    is_rebuilt: bool = False
    container: str = ""


def restore(config: Config, ref: str, options: RestoreOptions) -> list[RestoredFile]:
    """Write the transcript of a session, its sub-agents and side files, unless they exist.

    If any file differs and nothing may be replaced, write nothing.
    """

    def run(store: Store) -> list[RestoredFile]:
        contents = _find_contents(config, store, ref, options.version)
        for content in contents:
            _check_place(content, options)
        found = [_check(one, _find_path(one, contents[0], options)) for one in contents]
        is_blocked = not options.is_forced and any(one.state == "different" for one in found)
        if options.is_dry_run or is_blocked:
            return found
        return [_write(content, one) for content, one in zip(contents, found, strict=True)]

    return read_consistently(config.store_dir, run)


def list_versions(config: Config, ref: str) -> list[SourceFile]:
    """Return the stored contents of a session's transcript, the oldest first."""

    def read(store: Store) -> list[SourceFile]:
        return _versions(refs.find_row(list(store.rows()), ref))

    return read_consistently(config.store_dir, read)


def _find_contents(config: Config, store: Store, ref: str, version: int | None) -> list[_Content]:
    """Return the files of a session and its sub-agents, its transcript first."""
    rows = list(store.rows())
    row = refs.find_row(rows, ref)
    chosen: dict[str, Row] = {}
    add_descendants(row, rows, chosen)
    files = _newest_files(config, store, chosen.values())
    if version is not None:
        files = [_choose_version(row, version), *files]
    contents = {file.path: _stored_content(store, file) for file in reversed(files)}
    ordered = [contents[path] for path in dict.fromkeys(file.path for file in files)]
    if any(file.parts for file in (*row.files, *row.versions)):
        return ordered
    return [_rebuild(config, store, row), *ordered]


def _stored_content(store: Store, file: SourceFile) -> _Content:
    path = f"{file.path}.jsonl" if file.container else file.path
    return _Content(
        path,
        file.root,
        file.stored_bytes,
        file.parts_crc,
        lambda: iterate_parts(file.parts, store.read),
        container=file.container,
    )


def _rebuild(config: Config, store: Store, row: Row) -> _Content:
    """Return a transcript that is made from the turns of a session."""
    try:
        transcript = rebuild_transcript(store, row)
    except NotFoundError as error:
        raise NotRestorableError(str(error)) from None
    if row.files:
        path, root = row.files[0].path.removesuffix(".zst"), row.files[0].root
    else:
        roots = [root.path for root in config.roots if root.source == row.session.source]
        if not roots:
            raise NotRestorableError(
                f"cannot rebuild {row.session.id}, its client has no directory here: use --to DIR"
            )
        root = roots[0]
        path = os.path.join(root, transcript.path)
    content = transcript.content
    return _Content(
        path, root, len(content), zlib.crc32(content), lambda: iter([content]), is_rebuilt=True
    )


def _choose_version(row: Row, version: int) -> SourceFile:
    versions = _versions(row)
    if not 1 <= version <= len(versions):
        raise UsageError(
            f"version {version} does not exist (the session has {len(versions)}): "
            "use --versions to list them"
        )
    return versions[version - 1]


def _versions(row: Row) -> list[SourceFile]:
    return [*row.versions, *(file for file in row.files[:1] if file.parts)]


def _newest_files(config: Config, store: Store, rows: Iterable[Row]) -> list[SourceFile]:
    """Return the newest stored content of each path."""
    newest: dict[str, SourceFile] = {}
    for row in rows:
        is_foreign = row.provenance is not None
        here = [file for file in row.files if file.parts and not (is_foreign and file.is_partial)]
        stored = [] if here else list(row.versions[-1:])
        stored += list_stored_files(replace(row, files=(), versions=()), store.read)
        if is_foreign:
            stored = [_move_here(config, row, file) for file in stored]
        newest |= {file.path: file for file in (*here, *stored)}
    return list(newest.values())


def _move_here(config: Config, row: Row, file: SourceFile) -> SourceFile:
    """Return a file of another machine with its path below this machine's directory."""
    root = client_root(config, row.session.source)
    path = move_below(file.path, file.root, root) if root is not None else None
    if root is None or path is None:
        raise NotRestorableError(
            f"cannot restore {row.session.id} of another machine, its client has no directory "
            "here: start the client once, or use --to DIR"
        )
    return replace(file, path=path, root=root)


def _check_place(content: _Content, options: RestoreOptions) -> None:
    """Raise NotRestorableError for rows of a database that would be written into it."""
    if content.container and not (options.directory or options.folder):
        raise NotRestorableError(
            f"cannot restore a session into {content.container}, which is its client's database: "
            "use --to DIR to write its rows as JSON lines, or `ccgrep resume --with claude`"
        )


def _find_path(content: _Content, transcript: _Content, options: RestoreOptions) -> str:
    """Return where to write a file of a session with that transcript."""
    if options.folder:
        below = os.path.relpath(content.path, os.path.dirname(transcript.path))
        return os.path.join(options.folder, below)
    if options.directory:
        return os.path.join(options.directory, os.path.relpath(content.path, content.root))
    return content.path


def _check(content: _Content, path: str) -> RestoredFile:
    return RestoredFile(path, content.size, _find_state(path, content))


def _find_state(path: str, content: _Content) -> State:
    """Return whether a file exists and starts with these bytes. It may have grown since."""
    if not os.path.lexists(path):
        return "missing"
    opened = open_side_file(path)
    if opened is None:
        return "different"
    with opened:
        return "present" if has_prefix(opened, content.size, content.crc) else "different"


def _write(content: _Content, found: RestoredFile) -> RestoredFile:
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
        for data in content.read():
            new.write(data)
        new.publish(found.path)
    finally:
        new.discard()
    state: State = "rebuilt" if content.is_rebuilt else "restored"
    return RestoredFile(found.path, found.size, "replaced" if backup else state, backup)


def _free_name(path: str) -> str:
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = f"{path}{number}"
    return name
