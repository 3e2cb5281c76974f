"""A tool on one home: runs its commands and records its figures.

A tool that fails, takes too long or does not find the planted session is excluded from further
measurements, and the reason is recorded. Nothing here compares tools.
"""

from pathlib import Path
from typing import NamedTuple

from bench import measure
from bench.home import make_private_home
from bench.peers import Command, InstallDir, Peer, fill_command, make_environment, version
from bench.results import Tool, make_figure

PLANTED_WORD = "plantedword"
_SEARCH_CODES = (0, 1)


class Limits(NamedTuple):
    """The number of runs, the seconds for a step, and the seconds for all searches of a kind."""

    runs: int
    timeout_s: float
    budget_s: float


class Contender:
    """A peer with a home of its own, and what was measured."""

    def __init__(
        self, peer: Peer, tool: Tool, install_dir: InstallDir, home: Path, limits: Limits
    ) -> None:
        self.peer = peer
        self.tool = tool
        self.home = home
        self._environment = make_environment(install_dir, peer, home)
        self._limits = limits
        self.is_excluded = not tool.version

    def run(self, template: Command, timeout_s: float, word: str = "") -> measure.Run | None:
        """Run one of its commands. Exclude the tool and return None if the command fails."""
        command = fill_command(template, self.home, word)
        try:
            return measure.run(command, self._environment, timeout_s, _SEARCH_CODES)
        except (measure.FailedError, OSError) as error:
            self.exclude(f"`{' '.join(template[:3])}` {error}")
            return None

    def build(self) -> measure.Run | None:
        peer = self.peer
        return self.run(peer.build or peer.search, self._limits.timeout_s, PLANTED_WORD)

    def refresh(self) -> measure.Run | None:
        return self.run(self.peer.refresh, self._limits.timeout_s)

    def start(self) -> measure.Run | None:
        return self.run(self.peer.start, self._limits.timeout_s)

    def stop(self) -> None:
        if self.tool.version and self.peer.stop:
            self.run(self.peer.stop, self._limits.timeout_s)

    def ingest_changes(self) -> None:
        if not self.is_excluded:
            self.run(self.peer.refresh or self.peer.search, self._limits.timeout_s, PLANTED_WORD)

    def search(
        self, word: str, must_find: bool = True, timeout_s: float | None = None
    ) -> measure.Run | None:
        run = self.run(self.peer.search, timeout_s or self._limits.budget_s, word)
        if run is not None and must_find and not self.is_found(run, word):
            self.exclude(f"does not find {word}")
            return None
        return run

    def is_found(self, run: measure.Run, word: str) -> bool:
        return self.peer.proof.format(word=word) in run.output

    def exclude(self, reason: str) -> None:
        self.tool.notes.append(reason)
        self.is_excluded = True

    def record(self, key: str, values: list[float]) -> None:
        if values:
            self.tool.figures[key] = make_figure(values)

    def record_memory(self, step: str, runs: list[measure.Run]) -> None:
        """Record the peaks of memory, except for runs that ended before the first sample."""
        peaks = [run.peak for run in runs if run.peak.resident]
        if peaks:
            self.record(f"{step}_memory", [max(peak.resident for peak in peaks)])
            self.record(f"{step}_anonymous", [max(peak.anonymous for peak in peaks)])


def make_contender(peer: Peer, install_dir: InstallDir, work: Path, limits: Limits) -> Contender:
    """Return the tool with a home of its own that shows the transcripts of `work`/home."""
    installed = version(install_dir, peer)
    tool = Tool(peer.name, installed or "", peer.answers)
    if installed is None:
        tool.notes.append("not installed")
    home = work / f"of-{peer.name.replace(' ', '-')}"
    make_private_home(work / "home", home)
    return Contender(peer, tool, install_dir, home, limits)
