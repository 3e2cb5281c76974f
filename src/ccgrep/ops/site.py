"""Keeps the files of a site up to date: `ccgrep export --site`.

    .ccgrep-site.json    the key of each file: what it was made from

A file is written again only if its key has changed, and deleted if nothing makes it any more.
ccgrep touches no other file, and uses no folder that has other files.
"""

import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from ccgrep.errors import UsageError
from ccgrep.store import fsio
from ccgrep.text import one_line

_STATE = ".ccgrep-site.json"
_VERSION = 1


class SiteState(Struct, frozen=True):
    version: int
    keys: dict[str, str]


class SiteFolder:
    """The folder of a site. `written` counts the files that `write` wrote."""

    def __init__(self, directory: str, write_file: Callable[[str, str], None]) -> None:
        self._directory = directory
        self._write_file = write_file
        self._before = self._open()
        self._keys: dict[str, str] = {}
        self.written = 0

    def keep(self, name: str, key: str) -> bool:
        """Return whether a file is up to date, and keep it if it is."""
        is_there = os.path.isfile(os.path.join(self._directory, name))
        if not is_there or self._before.get(name) != key:
            return False
        self._keys[name] = key
        return True

    def keep_below(self, folder: str, key: str) -> bool:
        """Return whether all files of a folder are up to date, and keep them if so."""
        names = [name for name in self._before if name.startswith(f"{folder}/")]
        return bool(names) and all(self.keep(name, key) for name in names)

    def write(self, name: str, key: str, text: str) -> None:
        path = os.path.join(self._directory, name)
        fsio.make_dir(os.path.dirname(path))
        self._write_file(path, text)
        self._keys[name] = key
        self.written += 1

    def close(self) -> int:
        """Delete the files that nothing made this time, and return how many those are."""
        gone = self._before.keys() - self._keys.keys()
        for name in gone:
            fsio.remove(os.path.join(self._directory, name))
        state = msgspec.json.encode(SiteState(_VERSION, self._keys))
        self._write_file(os.path.join(self._directory, _STATE), state.decode())
        return len(gone)

    def _open(self) -> dict[str, str]:
        """Create the folder, or return the keys of the site that it has."""
        path = os.path.join(self._directory, _STATE)
        shown = one_line(self._directory)
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            fsio.make_dir(self._directory)
            names = []
        if names and _STATE not in names:
            raise UsageError(f"'{shown}' has other files: choose an empty or a new directory")
        if not names:
            # An interrupted first run has to be recognized as a site.
            self._write_file(path, msgspec.json.encode(SiteState(_VERSION, {})).decode())
            return {}
        try:
            with open(path, "rb") as file:
                state = msgspec.json.decode(file.read(), type=SiteState)
        except msgspec.DecodeError:
            raise UsageError(f"'{one_line(path)}' is damaged: delete '{shown}' first") from None
        if state.version > _VERSION:
            raise UsageError(f"'{shown}' was made by a newer ccgrep: update ccgrep")
        return {name: key for name, key in state.keys.items() if _is_inside(name)}


def _is_inside(name: str) -> bool:
    """Return whether a name of the state file cannot lead out of the folder."""
    return not os.path.isabs(name) and ".." not in name.split("/")
