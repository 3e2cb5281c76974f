"""Loads the readers of sources: modules that are imported when there is something to read."""

from collections.abc import Iterable
from io import BytesIO
from typing import Any, Protocol, cast

import msgspec

from ccgrep.kinds import SourceName
from ccgrep.sources.identity import stable_id
from ccgrep.sources.reading import Input, Reading, SessionIdentity
from ccgrep.sources.registry import Source, find_source
from ccgrep.sources.scan import FoundFile, Listing

_MAX_EXPORTED_BYTES = 512 * 1024 * 1024


class Reader(Protocol):
    """What the module of a source has.

    A module may also have `export`, which `open_exported` calls, and `list_side_files`.
    """

    def list_files(self, listing: Listing, /) -> None:
        """Add every source file below the root of `listing`, from stats and listings alone."""

    def identify(self, path: str, /) -> SessionIdentity:
        """Return what the path of a session says about it."""

    def read(self, input: Input, found: FoundFile, /) -> Reading:
        """Read the stream of a session, from where it is to its end."""


class _NoReader:
    """The reader of sessions that were imported, or whose plug-in is gone."""

    def list_files(self, listing: Listing) -> None:
        listing.add_error(f"{listing.root.path}: no reader for {listing.root.source}")

    def identify(self, path: str) -> SessionIdentity:
        return SessionIdentity(stable_id("unknown", path))

    def read(self, _input: Input, found: FoundFile) -> Reading:
        raise ValueError(f"no reader for {found.source}")


def load_reader(name: SourceName) -> Reader:
    """Return the reader of a source."""
    if module := find_source(name).module:
        # importlib would be imported for this alone.
        return cast(Reader, __import__(module, fromlist=["read"]))
    from ccgrep.sources.plugins import GuardedReader, load_plugins  # noqa: PLC0415 - rare

    plugin = load_plugins().by_name.get(name)
    return GuardedReader(plugin) if plugin is not None else _NoReader()


def find_any_source(name: SourceName) -> Source:
    """Return a source of the table or of a plug-in."""
    source = find_source(name)
    if source.module:
        return source
    from ccgrep.sources.plugins import load_plugins  # noqa: PLC0415 - rare

    plugin = load_plugins().by_name.get(name)
    return plugin.source if plugin is not None else source


def identify(source: SourceName, path: str) -> SessionIdentity:
    """Return what the path of a transcript or document says about its session."""
    return load_reader(source).identify(path)


def open_exported(found: FoundFile) -> BytesIO:
    """Return a session that is no file of its own as one: its rows as JSON lines.

    The module's `export` yields the rows in a stable order, so that only new ones come at the end.
    """
    file = BytesIO()
    rows: Iterable[dict[str, Any]] = cast(Any, load_reader(found.source)).export(found)
    for row in rows:
        file.write(msgspec.json.encode(row) + b"\n")
        if file.tell() > _MAX_EXPORTED_BYTES:
            raise OSError(f"larger than {_MAX_EXPORTED_BYTES >> 20} MiB")
    file.seek(0)
    return file


def list_side_files(source: SourceName, path: str) -> list[str]:
    """Return the paths of files that belong to a session and are archived with it."""
    lister = getattr(load_reader(source), "list_side_files", None)
    return lister(path) if lister is not None else []
