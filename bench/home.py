"""Home directories to measure on: made, mirrored, and with a session that grows.

A home that was given is never written to: what is measured is a mirror of hard links.
"""

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from bench.generate import Summary, generate

RACY_S = 2.5  # what changed less than two seconds ago counts as changing
ROOTS = (".claude/projects", ".codex/sessions")
_AT_REST_S = 3600


def made(home: Path, total_bytes: int, files: int, turns: int | None = None) -> Summary:
    """A generated home, none of its files younger than now, whatever the clock says."""
    summary = generate(home, total_bytes, files, turns=turns)
    latest = time.time() - _AT_REST_S
    for path in home.rglob("*.jsonl"):
        if path.stat().st_mtime > latest:
            os.utime(path, (latest, latest))
    return summary


def mirrored(home: Path, target: Path) -> None:
    """The transcripts of `home` under `target`, as links where that is possible."""
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


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def private(home: Path, directory: Path) -> None:
    """Makes `directory` a home of its own in which the transcripts of `home` are seen."""
    for root in ROOTS:
        link = directory / root
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((home / root).absolute(), target_is_directory=True)


def bytes_in(directory: Path) -> int:
    """What files below a directory occupy, what is linked to left out."""
    paths = (os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)
    found = map(os.lstat, paths)
    return sum(info.st_blocks * 512 for info in found)


class Growing:
    """A session that gets a turn more before each call."""

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
        self.grow()
        self.settle()
        return self

    def __exit__(self, *_: object) -> None:
        folder = self._path.parent
        shutil.rmtree(folder)
        os.utime(folder.parent, ns=(self._folder_time, self._folder_time))

    def grow(self) -> None:
        answer = [{"type": "text", "text": f"Answer {self.turns}."}]
        model = {"id": f"msg_{self.turns}", "type": "message", "model": "claude-opus-4-6"}
        with self._path.open("ab") as file:
            file.write(self._line("user", 0, content=f"{self.words} {self.turns}"))
            file.write(self._line("assistant", 1, content=answer, **model))
        self.turns += 1

    def settle(self) -> None:
        """Makes the file as old as one that nobody writes to."""
        then = time.time() - _AT_REST_S
        os.utime(self._path, (then, then))

    def is_last_in(self, output: str) -> bool:
        return f"{self.id[:8]}:{self.turns - 1}:" in output

    def _line(self, role: str, place: int, **message: object) -> bytes:
        number = 2 * self.turns + place
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
