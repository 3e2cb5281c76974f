"""Home directories to measure on: generated, mirrored, and with a session that grows.

A real home is never written to. The benchmarks run on a mirror of hard links.
"""

import os
import shutil
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from bench.generate import Summary, generate

ROOTS = (".claude/projects", ".codex/sessions")
_SETTLED_AGE_S = 3600
"""An age at which ccgrep trusts modification times."""


def generate_home(home: Path, total_bytes: int, files: int, turns: int | None = None) -> Summary:
    """Generate a home in which no file looks recently modified."""
    summary = generate(home, total_bytes, files, turns=turns)
    _settle(home.rglob("*"))
    return summary


def _settle(paths: Iterable[Path]) -> None:
    """Make recently modified paths look as if nobody writes to them."""
    latest = time.time() - _SETTLED_AGE_S
    for path in paths:
        if path.stat().st_mtime > latest:
            os.utime(path, (latest, latest))


def mirror_home(home: Path, target: Path) -> None:
    """Link the transcripts of `home` into `target`, or copy them if links are impossible."""
    for root in ROOTS:
        (target / root).mkdir(parents=True, exist_ok=True)
        if (home / root).is_dir():
            shutil.copytree(
                home / root,
                target / root,
                copy_function=_link,
                dirs_exist_ok=True,
                ignore_dangling_symlinks=True,
            )
    _settle(path for path in target.rglob("*") if path.is_dir())  # files are links to real ones


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def make_private_home(home: Path, directory: Path) -> None:
    """Make `directory` a separate home that shows the transcripts of `home`."""
    for root in ROOTS:
        link = directory / root
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((home / root).absolute(), target_is_directory=True)


def disk_usage(directory: Path) -> int:
    """Return the bytes that the files below a directory occupy, without following links."""
    paths = (os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


class GrowingSession:
    """A session that is added to a home, grows by a turn at a time, and is removed at the end."""

    def __init__(self, home: Path, words: str = "") -> None:
        self.id = "bec4bec4-0000-4000-8000-000000000001"
        self.words = words
        self.turns = 0
        self.home = home
        self._folder_time = 0
        self._path = home / ".claude" / "projects" / "-ccgrep-bench" / f"{self.id}.jsonl"

    def __enter__(self) -> Self:
        folder = self._path.parent
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._folder_time = folder.parent.stat().st_mtime_ns
        folder.mkdir(exist_ok=True)
        self._path.unlink(missing_ok=True)
        self.append_turn()
        self.settle()
        return self

    def __exit__(self, *_: object) -> None:
        folder = self._path.parent
        shutil.rmtree(folder)
        os.utime(folder.parent, ns=(self._folder_time, self._folder_time))

    def append_turn(self) -> None:
        answer = [{"type": "text", "text": f"Answer {self.turns}."}]
        model = {"id": f"msg_{self.turns}", "type": "message", "model": "claude-opus-4-6"}
        with self._path.open("ab") as file:
            file.write(self._line("user", 0, content=f"{self.words} {self.turns}"))
            file.write(self._line("assistant", 1, content=answer, **model))
        self.turns += 1

    def settle(self) -> None:
        """Make the file and its folders look as if nobody writes to them."""
        _settle([self._path, *self._path.parents[:2]])

    def is_last_turn_in(self, output: str) -> bool:
        return f"{self.id[:8]}:{self.turns - 1}:" in output

    def _line(self, role: str, position: int, **message: object) -> bytes:
        number = 2 * self.turns + position
        record = {
            "parentUuid": f"{self.id[:-6]}{number:06x}" if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/ccgrep-bench",
            "sessionId": self.id,
            "version": "2.1.150",
            "type": role,
            "uuid": f"{self.id[:-6]}{number + 1:06x}",
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "message": {"role": role, **message},
        }
        return msgspec.json.encode(record) + b"\n"
