"""A tool on one home: its commands are run, and what comes of it is noted.

What fails, takes too long or does not find what it should is left out from there on, and why is
told among the results. Nothing here compares.
"""

from pathlib import Path
from typing import NamedTuple

from bench import measure
from bench.home import private
from bench.peers import Command, Peer, Places, command, environment, version
from bench.results import Tool, figure

RARE = "plantedword"
_FOUND_OR_NOT = (0, 1)


class Limits(NamedTuple):
    """How long it may take: a build or refresh, and all searches of a tool of one kind together."""

    runs: int
    timeout_s: float
    budget_s: float


class Contender:
    """A peer on one home, with what was found out about it."""

    def __init__(self, peer: Peer, tool: Tool, places: Places, home: Path, limits: Limits) -> None:
        self.peer = peer
        self.tool = tool
        self.home = home
        self._environment = environment(places, peer, home)
        self._limits = limits
        self.is_out = not tool.version

    def run(self, template: Command, timeout_s: float, word: str = "") -> measure.Run | None:
        """A run of one of its commands; when it fails, that is noted and it is out."""
        asked = command(template, self.home, word)
        try:
            return measure.run(asked, self._environment, timeout_s, _FOUND_OR_NOT)
        except (measure.FailedError, OSError) as error:
            self.leave(f"`{' '.join(template[:3])}` {error}")
            return None

    def build(self) -> measure.Run | None:
        peer = self.peer
        return self.run(peer.build or peer.search, self._limits.timeout_s, RARE)

    def refresh(self) -> measure.Run | None:
        return self.run(self.peer.refresh, self._limits.timeout_s)

    def start(self) -> measure.Run | None:
        return self.run(self.peer.start, self._limits.timeout_s)

    def stop(self) -> None:
        if self.tool.version and self.peer.stop:
            self.run(self.peer.stop, self._limits.timeout_s)

    def settle(self) -> None:
        """Has it take in what changed."""
        if not self.is_out:
            self.run(self.peer.refresh or self.peer.search, self._limits.timeout_s, RARE)

    def search(
        self, word: str, is_proven: bool = True, timeout_s: float | None = None
    ) -> measure.Run | None:
        run = self.run(self.peer.search, timeout_s or self._limits.budget_s, word)
        if run is not None and is_proven and not self.is_found(run, word):
            self.leave(f"does not find {word}")
            return None
        return run

    def is_found(self, run: measure.Run, word: str) -> bool:
        return self.peer.proof.format(word=word) in run.output

    def leave(self, why: str) -> None:
        self.tool.notes.append(why)
        self.is_out = True

    def record(self, key: str, values: list[float]) -> None:
        if values:
            self.tool.figures[key] = figure(values)


def contender(peer: Peer, places: Places, work: Path, limits: Limits) -> Contender:
    """The tool with a home of its own, in which it sees the transcripts of `work`/home."""
    found = version(places, peer)
    tool = Tool(peer.name, found or "", peer.answers)
    if found is None:
        tool.notes.append("not installed")
    own = work / f"of-{peer.name.replace(' ', '-')}"
    private(work / "home", own)
    return Contender(peer, tool, places, own, limits)
