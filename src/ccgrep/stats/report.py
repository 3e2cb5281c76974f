"""What is told of the turns that were chosen: counts by tool, command, project, model and day."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ccgrep.search.request import Filters
from ccgrep.stats import days
from ccgrep.stats.columns import Array
from ccgrep.stats.select import selected
from ccgrep.stats.shared import Spent, counted_once, spent
from ccgrep.stats.tally import COMPOUND, PRIVILEGED, SOURCES
from ccgrep.stats.update import Opened

Dimension = Literal["source", "project", "model", "day", "week"]


class Tokens(NamedTuple):
    """Tokens of API messages, each counted once. `input` is what was neither read from the cache
    nor written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    messages: int = 0


class Group(NamedTuple):
    """What belongs to one project, day or source; "" is unknown."""

    name: str
    sessions: int
    turns: int
    calls: int
    tokens: Tokens


class ToolUse(NamedTuple):
    tool: str
    projects: tuple[tuple[str, int, int], ...]  # project, calls, errors; the most used first
    calls: int
    errors: int
    turns: int


class BashUse(NamedTuple):
    base: str
    sub: str
    uses: int
    errors: int
    compound: int
    privileged: int


class Overview(NamedTuple):
    sessions: int
    turns: int
    copies: int  # further places of the same turns, in forks and resumed sessions
    messages: int
    calls: int
    errors: int
    tokens: Tokens
    first: int | None
    last: int | None
    sources: tuple[Group, ...]
    projects: tuple[Group, ...]
    days: tuple[Group, ...]
    tools: tuple[ToolUse, ...]


class TokenReport(NamedTuple):
    total: Tokens
    by: dict[Dimension, tuple[tuple[str, Tokens], ...]]


class Report:
    """Answers about the turns that pass the filters; each turn is counted once."""

    def __init__(self, opened: Opened, filters: Filters) -> None:
        self._tables, self._shared = opened
        self.chosen = selected(self._tables, filters)
        self.counted = counted_once(self._tables, self._shared, self.chosen)

    def overview(self) -> Overview:
        tables, counted = self._tables, self.counted
        started = tables["turn.started"][self.chosen]
        known = started[started != 0]
        tools = self.tools(with_projects=False)
        used = self._spent()
        return Overview(
            sessions=len(np.unique(tables["turn.session"][self.chosen])),
            turns=int(counted.sum()),
            copies=int(self.chosen.sum() - counted.sum()),
            messages=int(tables["turn.messages"][counted].sum(dtype=np.int64)),
            calls=sum(use.calls for use in tools),
            errors=sum(use.errors for use in tools),
            tokens=_total(used),
            first=int(known.min()) if len(known) else None,
            last=int(known.max()) if len(known) else None,
            sources=self._groups("source", used),
            projects=self._groups("project", used),
            days=self._groups("day", used),
            tools=tools,
        )

    def tools(self, with_projects: bool = True) -> tuple[ToolUse, ...]:
        """Every tool, the most used first."""
        tables = self._tables
        rows = np.flatnonzero(self.counted[tables["tool.turn"]])
        name, turn = tables["tool.name"][rows], tables["tool.turn"][rows]
        calls, errors = tables["tool.calls"][rows], tables["tool.errors"][rows]
        words = tables.words("tool")
        sums = [_sums(name, column, len(words)) for column in (calls, errors, np.ones_like(calls))]
        projects = self._projects_of(name, turn, calls, errors) if with_projects else {}
        used = [
            ToolUse(words[i], projects.get(i, ()), *_at(sums, i))
            for i in np.flatnonzero(sums[0]).tolist()
        ]
        return tuple(sorted(used, key=lambda use: (-use.calls, use.tool)))

    def _projects_of(
        self, name: Array, turn: Array, calls: Array, errors: Array
    ) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """For each tool the projects in which it was used."""
        tables = self._tables
        project = tables["session.project"][tables["turn.session"][turn]]
        words = tables.words("project")
        pairs = name.astype(np.int64) * max(len(words), 1) + project
        seen, at = np.unique(pairs, return_inverse=True)
        sums = [_sums(at, column, len(seen)) for column in (calls, errors)]
        found: dict[int, list[tuple[str, int, int]]] = {}
        for i, pair in enumerate(seen.tolist()):
            tool, where = divmod(pair, max(len(words), 1))
            found.setdefault(tool, []).append((words[where], int(sums[0][i]), int(sums[1][i])))
        return {
            tool: tuple(sorted(uses, key=lambda use: (-use[1], use[0])))
            for tool, uses in found.items()
        }

    def bash(self) -> tuple[BashUse, ...]:
        """Every base command with its subcommand, the most used first."""
        tables = self._tables
        rows = self._bash_rows()
        pairs, at = _pairs(tables["bash.base"][rows], tables["bash.sub"][rows])
        count, flags = tables["bash.count"][rows], tables["bash.flags"][rows]
        sums = [
            _sums(at, column, len(pairs))
            for column in (
                count,
                tables["bash.errors"][rows],
                count * ((flags & COMPOUND) > 0),
                count * ((flags & PRIVILEGED) > 0),
            )
        ]
        words = tables.words("command")
        used = [
            BashUse(words[base], words[sub], *_at(sums, i)) for i, (base, sub) in enumerate(pairs)
        ]
        return tuple(sorted(used, key=lambda use: (-use.uses, use.base, use.sub)))

    def judged(self) -> list[tuple[str, str, int, str, int]]:
        """Base, subcommand, flags, verdict and count of every kind of command."""
        tables = self._tables
        rows = self._bash_rows()
        names = ("bash.base", "bash.sub", "bash.flags", "bash.verdict")
        kinds = np.stack([tables[name][rows].astype(np.int64) for name in names], axis=1)
        seen, at = np.unique(kinds, axis=0, return_inverse=True)
        counts = _sums(at.reshape(-1), tables["bash.count"][rows], len(seen))
        words, verdicts = tables.words("command"), tables.words("verdict")
        return [
            (words[base], words[sub], flags, verdicts[verdict], int(count))
            for (base, sub, flags, verdict), count in zip(seen.tolist(), counts, strict=True)
        ]

    def _bash_rows(self) -> Array:
        return np.flatnonzero(self.counted[self._tables["bash.turn"]])

    def tokens(self, dimensions: Sequence[Dimension]) -> TokenReport:
        used = self._spent()
        by: dict[Dimension, tuple[tuple[str, Tokens], ...]] = {}
        for dimension in dimensions:
            codes, name = self._coded(dimension, used.turn, used.model)
            size = int(codes.max(initial=-1)) + 1
            sums = [_sums(codes, column, size) for column in used.tokens]
            found = [(name(i), _tokens(sums, i)) for i in np.flatnonzero(sums[-1]).tolist()]
            by[dimension] = tuple(sorted(found, key=_order(dimension)))
        return TokenReport(_total(used), by)

    def _spent(self) -> Spent:
        return spent(self._tables, self._shared, self.chosen)

    def _groups(self, dimension: Dimension, used: Spent) -> tuple[Group, ...]:
        tables = self._tables
        turns = np.flatnonzero(self.counted)
        everywhere, name = self._coded(dimension, np.arange(tables.turns), used.model)
        size = int(everywhere.max(initial=-1)) + 1
        places = np.flatnonzero(self.chosen)
        pairs = everywhere[places] * len(tables["session.kind"]) + tables["turn.session"][places]
        in_session = np.unique(pairs) // max(len(tables["session.kind"]), 1)
        rows = np.flatnonzero(self.counted[tables["tool.turn"]])
        calls = _sums(everywhere[tables["tool.turn"][rows]], tables["tool.calls"][rows], size)
        sums = [_sums(everywhere[used.turn], column, size) for column in used.tokens]
        sessions = np.bincount(in_session, minlength=size)
        counts = np.bincount(everywhere[turns], minlength=size)
        found = [
            Group(name(i), int(sessions[i]), int(counts[i]), int(calls[i]), _tokens(sums, i))
            for i in np.flatnonzero(sessions).tolist()
        ]
        return tuple(sorted(found, key=lambda group: (-group.turns, group.name)))

    def _coded(
        self, dimension: Dimension, turn: Array, model: Array
    ) -> tuple[Array, Callable[[int], str]]:
        """For rows of turns and models their numbers in a dimension, and what those are called."""
        tables = self._tables
        if dimension == "model":
            return model.astype(np.int64), tables.words("model").__getitem__
        if dimension in ("day", "week"):
            local = days.local_days(tables["turn.started"])
            seen, codes = np.unique(local, return_inverse=True)
            if dimension == "day":
                return codes[turn], lambda i: days.day_name(int(seen[i]))
            names = [days.week_name(int(day)) for day in seen]
            weeks = sorted(set(names))
            place = {name: i for i, name in enumerate(weeks)}
            to_week = np.array([place[name] for name in names], dtype=np.int64)
            return to_week[codes[turn]], weeks.__getitem__
        session = tables["turn.session"][turn]
        if dimension == "source":
            return tables["session.source"][session].astype(np.int64), SOURCES.__getitem__
        return (
            tables["session.project"][session].astype(np.int64),
            tables.words("project").__getitem__,
        )


def _sums(codes: Array, values: Array, size: int) -> Array:
    """For each code the sum of its values; exact below 2 to the power of 53."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.int64)


def _at(sums: Sequence[Array], i: int) -> Iterator[int]:
    return (int(column[i]) for column in sums)


def _pairs(a: Array, b: Array) -> tuple[list[tuple[int, int]], Array]:
    """The pairs that occur, and for each row the number of its pair."""
    both = (a.astype(np.int64) << 32) | b
    seen, at = np.unique(both, return_inverse=True)
    return [(int(pair) >> 32, int(pair) & 0xFFFFFFFF) for pair in seen], at


def _total(used: Spent) -> Tokens:
    return Tokens(*(int(column.sum()) for column in used.tokens))


def _tokens(sums: Sequence[Array], i: int) -> Tokens:
    return Tokens(*_at(sums, i))


def _order(dimension: Dimension) -> Callable[[tuple[str, Tokens]], tuple[object, ...]]:
    """Days and weeks as they went by; else those that took most first."""
    if dimension in ("day", "week"):
        return lambda item: (item[0],)
    return lambda item: (-sum(item[1][:4]), item[0])
