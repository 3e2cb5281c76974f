"""The commands whose work is counted: a story in one home, each step continuing the last.

bytes parsed, objects, documents, vectors   what a command added, from its report and the store
everything else                             its system calls, from `tests/work/strace.py`
"""

import json
import os
import shutil
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.helpers.homes import SOURCE, Home
from tests.helpers.transcripts import ClaudeFile, Lines
from tests.work.strace import is_own, python_modules, trace

Counts = dict[str, int]

_VECTORS_HEAD = struct.Struct("<8sII")
_PATH_CHARS = 120


@contextmanager
def make_directory() -> Iterator[Path]:
    """Yield a new directory in the checkout.

    Some counts depend on the order of directory entries, which differs on file systems in memory.
    """
    build = Path(SOURCE).parent / "build"
    build.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=build) as directory:
        yield Path(directory)


class Story:
    """A home with sessions of Claude Code, a sub-agent and a session of Codex."""

    def __init__(self, directory: Path, sessions: int = 5) -> None:
        # ccgrep writes paths, so they have the same length on every machine.
        self.home = Home(directory / "home".ljust(_PATH_CHARS - len(str(directory)), "-"))
        self.files: list[ClaudeFile] = []
        self._python = python_modules(self.home)
        self._last_s = time.time() - 3000
        for seed in range(sessions):
            file = self.home.claude(seed + 1, slug=f"-p{seed % 3}")
            for number in range(4):
                text = f"how does part {seed:03} of step {number} work"
                file.turn(f"prompt {text}", f"two words about {text}", "make", "ok\n" * 50)
            self.files.append(file)
        agent = self.home.subagent(self.files[0], "agent-a1b2c3d")
        agent.turn("look around", "nothing there")
        codex = self.home.codex(5)
        codex.meta()
        codex.turn("list files", "done", "ls", "a b c")
        for each in (*self.files, agent, codex):
            self.write(each)
        self.home.rest()
        self._settle(self.files[-1].path)  # the transcript that grows is the newest

    def write(self, file: Lines) -> None:
        """Write a whole transcript, which also changes its directory."""
        self._settle(file.write())
        self._settle(file.path.parent)

    def append(self, words: str) -> None:
        """Append a turn to the last session."""
        file = self.files[-1]
        file.turn(f"prompt {words}", f"answer to {words}")
        self._settle(file.append())

    def _settle(self, path: Path) -> None:
        """Set an mtime that differs but is not recent: ccgrep reads recent files twice."""
        self._last_s += 1
        os.utime(path, (self._last_s, self._last_s))

    def count(self, *command: str) -> Counts:
        """Run a command and return the counts of its work."""
        before = _Content.of(self.home)
        traced = trace(self.home, *command)
        after = _Content.of(self.home)
        counts = Counter(traced.counts)
        if command[0] == "index":
            counts["bytes parsed"] = json.loads(traced.output)["bytes_parsed"]
        counts["objects"] = len(after.objects - before.objects)
        counts["documents"] = sum(
            size for id, size in after.segments.items() if id not in before.segments
        )
        counts["vectors"] = after.vectors - before.vectors
        counts["modules"] = sum(map(is_own, traced.modules))
        counts["library modules"] = len(traced.modules - self._python) - counts["modules"]
        return dict(sorted((name, number) for name, number in counts.items() if number))


class _Content(NamedTuple):
    """What a store holds."""

    objects: frozenset[bytes]
    segments: dict[str, int]
    vectors: int

    @classmethod
    def of(cls, home: Home) -> "_Content":
        if not home.store_dir.exists():
            return cls(frozenset(), {}, 0)
        objects = frozenset(id for pack in home.store.packs() for id in pack.ids())
        segments = {}
        for path in home.store_dir.glob("text/*/meta.json"):
            for segment in json.loads(path.read_text())["segments"]:
                segments[segment["segment_id"]] = segment["max_doc"]
        vectors = 0
        for path in home.store_dir.glob("vectors/*/*.vec"):
            vectors += _VECTORS_HEAD.unpack(path.read_bytes()[: _VECTORS_HEAD.size])[1]
        return cls(objects, segments, vectors)


Step = tuple[str, Callable[[Story], None], tuple[str, ...]]


def _change_nothing(story: Story) -> None:
    pass


def _append(story: Story) -> None:
    story.append("one more turn")


def _append_again(story: Story) -> None:
    story.append("yet another turn")


def _append_new_words(story: Story) -> None:
    story.append("the login page that crashes")


def _rewrite(story: Story) -> None:
    file = story.files[1]
    file.records[0]["message"]["content"] = "prompt that was rewritten"  # type: ignore[call-overload]
    story.write(file)


def _fork(story: Story) -> None:
    story.write(story.files[2].fork(story.home.projects / "-p0", 8, seed=77))


def _copy(story: Story) -> None:
    file = story.files[3]
    file.path = story.home.projects / "-p1" / file.path.name
    story.write(file)


def _lose_text(story: Story) -> None:
    shutil.rmtree(story.home.store_dir / "text")


def _embed(story: Story) -> None:
    story.home.embed = "auto"


_INDEX = ("index", "--json")

PLAIN: tuple[Step, ...] = (
    ("first index", _change_nothing, _INDEX),
    ("index, nothing new", _change_nothing, _INDEX),
    ("search --no-refresh", _change_nothing, ("--no-refresh", "two", "words")),
    ("search, nothing new", _change_nothing, ("two", "words")),
    ("search -F", _change_nothing, ("-F", "two words")),
    ("list", _change_nothing, ("list",)),
    ("show", _change_nothing, ("show", "b8a1abcd")),
    ("stats, the first time", _change_nothing, ("stats",)),
    ("stats, nothing new", _change_nothing, ("stats",)),
    ("search, one turn appended", _append, ("two", "words")),
    ("index, one turn appended", _append_again, _INDEX),
    ("index, one transcript rewritten", _rewrite, _INDEX),
    ("index, a fork added", _fork, _INDEX),
    ("index, a copy added", _copy, _INDEX),
    ("gc", _change_nothing, ("gc",)),
    ("search, full-text index lost", _lose_text, ("two", "words")),
)
SEMANTIC: tuple[Step, ...] = (
    ("index, everything embedded", _embed, ("index", "--json", "--embed-all")),
    ("search --semantic", _change_nothing, ("--semantic", "how do the steps work")),
    (
        "index, one turn appended and embedded",
        _append_new_words,
        ("index", "--json", "--embed-all"),
    ),
)
GROWTH: tuple[Step, ...] = (
    ("index, nothing new", _change_nothing, _INDEX),
    ("search --no-refresh", _change_nothing, ("--no-refresh", "two", "words")),
    ("search, nothing new", _change_nothing, ("two", "words")),
    ("search, one turn appended", _append, ("two", "words")),
    ("index, one turn appended", _append_again, _INDEX),
)


def count_steps(story: Story, steps: tuple[Step, ...]) -> Iterator[tuple[str, Counts]]:
    for name, prepare, command in steps:
        prepare(story)
        yield name, story.count(*command)
