"""Finds readers in other packages: entry points of the group `ccgrep.sources`.

An entry point names a module that has `SOURCE`, a row of the table in `registry.py`, and the
functions in `readers.py`. A module that fails is reported and skipped. Nothing is loaded unless an
installed package has such an entry point: importing `importlib.metadata` takes 50 ms.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, cast

from ccgrep.errors import CcgrepError
from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.identity import stable_id
from ccgrep.sources.reading import Input, Reading, SessionIdentity
from ccgrep.sources.registry import SOURCES, Root, Source, find_roots_of
from ccgrep.sources.scan import FoundFile, Listing

_GROUP = "ccgrep.sources"
_NAME = r"[a-z][a-z0-9_]{0,39}"
_FUNCTIONS = ("list_files", "identify", "read")

T = TypeVar("T")


class Plugin(NamedTuple):
    """A source of another package, and the module that reads it."""

    source: Source
    module: ModuleType


class Plugins(NamedTuple):
    """The plug-ins by name, and what is wrong with others."""

    by_name: dict[str, Plugin]
    problems: list[str]

    def find_roots(self, environment: Mapping[str, str]) -> list[Root]:
        """Return the directories of their agents that exist."""
        home = environment.get("HOME", "")
        sources = [plugin.source for plugin in self.by_name.values()]
        return find_roots_of(sources, environment, home) if home else []


def is_any_installed() -> bool:
    """Return whether a package has an entry point of the group, without loading any."""
    return any(f"[{_GROUP}]".encode() in text for text in _read_entry_points())


def _read_entry_points() -> Iterator[bytes]:
    for directory in filter(None, sys.path):
        try:
            with os.scandir(directory) as entries:
                names = [entry.path for entry in entries if entry.name.endswith(".dist-info")]
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(name, "entry_points.txt"), "rb") as file:
                    yield file.read()
            except OSError:
                continue


@cache
def load_plugins() -> Plugins:
    """Import the plug-ins of all installed packages."""
    plugins = Plugins({}, [])
    if not is_any_installed():
        return plugins
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and rarely needed

    for entry in entry_points(group=_GROUP):
        try:
            plugin = _check(entry.load())
        except Exception as error:
            plugins.problems.append(
                f"skipped the plug-in '{entry.name}': {type(error).__name__}: {error}"
            )
            continue
        plugins.by_name.setdefault(plugin.source.name, plugin)
    return plugins


def _check(module: ModuleType) -> Plugin:
    source = module.SOURCE
    if not isinstance(source, Source) or not compile_pattern(_NAME).fullmatch(source.name):
        raise TypeError("SOURCE is not a ccgrep.sources.registry.Source with a plain name")
    if any(source.name == known.name for known in SOURCES):
        raise ValueError(f"ccgrep itself reads '{source.name}'")
    missing = [name for name in _FUNCTIONS if not callable(getattr(module, name, None))]
    if missing:
        raise TypeError(f"the module lacks {', '.join(missing)}")
    return Plugin(source, module)


class GuardedReader:
    """A plug-in as a reader. Whatever it raises becomes the failure of one file or root."""

    def __init__(self, plugin: Plugin) -> None:
        self._name = plugin.source.name
        self._module: Any = plugin.module

    def list_files(self, listing: Listing) -> None:
        try:
            self._call(self._module.list_files, listing)
        except ValueError as error:
            listing.add_error(str(error))

    def identify(self, path: str) -> SessionIdentity:
        try:
            return cast(SessionIdentity, self._call(self._module.identify, path))
        except ValueError:
            return SessionIdentity(stable_id(self._name, path))

    def read(self, input: Input, found: FoundFile) -> Reading:
        return cast(Reading, self._call(self._module.read, input, found))

    def export(self, found: FoundFile) -> Iterable[dict[str, Any]]:
        return self._call(lambda: list(self._module.export(found)))

    def list_side_files(self, path: str) -> list[str]:
        lister = getattr(self._module, "list_side_files", None)
        return [] if lister is None else self._call(lambda: list(lister(path)))

    def _call(self, function: Callable[..., T], *arguments: object) -> T:
        try:
            return function(*arguments)
        except (CcgrepError, OSError):
            raise
        except Exception as error:
            text = f"the plug-in '{self._name}' failed: {type(error).__name__}: {error}"
            raise ValueError(text) from error
