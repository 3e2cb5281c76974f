"""Loads the readers of sources: modules that are imported when there is something to read."""

from collections.abc import Iterable
from importlib import import_module
from io import BytesIO
from typing import Any, Protocol, cast

import msgspec

from ccgrep.kinds import SourceName
from ccgrep.sources.reading import Input, Reading, SessionIdentity
from ccgrep.sources.registry import find_source
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


def load_reader(name: SourceName) -> Reader:
    """Return the reader of a source."""
    return cast(Reader, import_module(find_source(name).module))


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
