"""What is told of the turns that were chosen: counts by tool, command, project, model and day."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from ccgrep.search.request import Filters
from ccgrep.stats import days
from ccgrep.stats.columns import Array
from ccgrep.stats.select import selected
from ccgrep.stats.shared import Spent, counted_once, rows_of, spent
from ccgrep.stats.tally import COMPOUND, PRIVILEGED, SOURCES, Use
from ccgrep.stats.update import Opened

_MAX_DENSE = 10_000_000
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
        self.counted = counted_once(self._shared, self.chosen)

    def overview(self) -> Overview:
        tables, counted = self._tables, self.counted
        started = tables["turn.started"][self.chosen]
        known = started[started != 0]
        tools = self.tools(with_projects=False)
        return Overview(
            sessions=int(np.count_nonzero(self._has_session)),
            turns=int(counted.sum()),
            copies=int(self.chosen.sum() - counted.sum()),
            messages=int(tables["turn.messages"][counted].sum(dtype=np.int64)),
            calls=sum(use.calls for use in tools),
            errors=sum(use.errors for use in tools),
            tokens=_total(self._spent),
            first=int(known.min()) if len(known) else None,
            last=int(known.max()) if len(known) else None,
            sources=self._groups("source"),
            projects=self._groups("project"),
            days=self._groups("day"),
            tools=tools,
        )

    def tools(self, with_projects: bool = True) -> tuple[ToolUse, ...]:
        """Every tool, the most used first."""
        tables = self._tables
        turn, words = tables["tool.turn"], tables.words("tool")
        rows = rows_of(self.counted[turn])
        name = tables["tool.name"][rows].astype(np.intp)
        calls, errors = tables["tool.calls"][rows], tables["tool.errors"][rows]
        sums = [_sums(name, column, len(words)) for column in (calls, errors)]
        sums.append(np.bincount(name, minlength=len(words)))
        projects = self._projects_of(name, turn[rows], calls, errors) if with_projects else {}
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
        pairs, at = _pairs(name, project, len(words))
        sums = [_sums(at, column, len(pairs)) for column in (calls, errors)]
        found: dict[int, list[tuple[str, int, int]]] = {}
        for i in np.flatnonzero(sums[0]).tolist():
            tool, where = divmod(int(pairs[i]), len(words))
            found.setdefault(tool, []).append((words[where], int(sums[0][i]), int(sums[1][i])))
        return {
            tool: tuple(sorted(uses, key=lambda use: (-use[1], use[0])))
            for tool, uses in found.items()
        }

    def bash(self) -> tuple[BashUse, ...]:
        """Every base command with its subcommand, the most used first."""
        sums: dict[tuple[str, str], list[int]] = {}
        for use, count, errors in self.shell_uses():
            total = sums.setdefault((use.base, use.sub), [0, 0, 0, 0])
            total[0] += count
            total[1] += errors
            total[2] += count if use.flags & COMPOUND else 0
            total[3] += count if use.flags & PRIVILEGED else 0
        used = [BashUse(*names, *total) for names, total in sums.items()]
        return tuple(sorted(used, key=lambda use: (-use.uses, use.base, use.sub)))

    def shell_uses(self) -> list[tuple[Use, int, int]]:
        """Every way in which a shell was used, how often, and how often it failed."""
        tables = self._tables
        rows = rows_of(self.counted[tables["bash.turn"]])
        words, codes = tables.words("use"), tables["bash.use"][rows]
        sums = [_sums(codes, tables[f"bash.{n}"][rows], len(words)) for n in ("count", "errors")]
        used = np.flatnonzero(sums[0]).tolist()
        return [(Use.of_word(words[i]), int(sums[0][i]), int(sums[1][i])) for i in used]

    def tokens(self, dimensions: Sequence[Dimension]) -> TokenReport:
        by: dict[Dimension, tuple[tuple[str, Tokens], ...]] = {}
        for dimension in dimensions:
            if dimension == "model":
                codes, words = self._spent.model.astype(np.intp), self._tables.words("model")
                groups = _Groups(codes, words.__getitem__, self._spent.tokens)
            else:
                groups = self._grouped(dimension)
            sums = [groups.sums(column) for column in groups.facts[-len(Tokens._fields) :]]
            used = np.flatnonzero(sums[-1]).tolist()
            found = [(groups.name(i), Tokens(*_at(sums, i))) for i in used]
            by[dimension] = tuple(sorted(found, key=_order(dimension)))
        return TokenReport(_total(self._spent), by)

    def _groups(self, dimension: Dimension) -> tuple[Group, ...]:
        """What belongs together in a dimension, the busiest first."""
        groups = self._grouped(dimension)
        turns, calls, *tokens = (groups.sums(column) for column in groups.facts)
        sessions = self._sessions_in(dimension, groups)
        found = [
            Group(
                groups.name(i), int(sessions[i]), int(turns[i]), int(calls[i]),
                Tokens(*_at(tokens, i)),
            )
            for i in np.flatnonzero(sessions).tolist()
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda group: (-group.turns, group.name)))

    def _sessions_in(self, dimension: Dimension, groups: "_Groups") -> Array:
        """How many sessions have a chosen turn in each group."""
        if dimension in ("source", "project"):
            return groups.sums(self._has_session)
        session = self._tables["turn.session"][self.chosen].astype(np.int64)
        size = max(groups.size, 1)
        pairs = np.sort(session * size + groups.codes[self.chosen])
        first = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))] if len(pairs) else pairs
        return np.bincount(first % size, minlength=groups.size)

    @cached_property
    def _spent(self) -> Spent:
        return spent(self._tables, self._shared, self.chosen)

    @cached_property
    def _has_session(self) -> Array:
        """Which sessions have a chosen turn."""
        has = np.zeros(len(self._tables["session.kind"]), dtype=bool)
        has[self._tables["turn.session"][self.chosen]] = True
        return has

    @cached_property
    def _by_turn(self) -> list[Array]:
        """For each turn: whether it is counted, its calls, its tokens."""
        tables, turn = self._tables, self._spent.turn.astype(np.intp)
        tokens = [_sums(turn, column, tables.turns) for column in self._spent.tokens]
        return [self.counted, tables["turn.calls"] * self.counted, *tokens]

    @cached_property
    def _by_session(self) -> list[Array]:
        """The same for each session."""
        session = self._tables["turn.session"].astype(np.intp)
        size = len(self._tables["session.kind"])
        return [_sums(session, column, size) for column in self._by_turn]

    def _grouped(self, dimension: Dimension) -> "_Groups":
        """Turns or sessions by a dimension."""
        tables = self._tables
        if dimension == "source":
            codes = tables["session.source"].astype(np.intp)
            return _Groups(codes, SOURCES.__getitem__, self._by_session)
        if dimension == "project":
            codes = tables["session.project"].astype(np.intp)
            return _Groups(codes, tables.words("project").__getitem__, self._by_session)
        numbers, first = days.local_days(tables["turn.started"])
        by_day = _Groups(
            numbers, lambda i: days.day_name(first + i - 1) if i else "", self._by_turn
        )
        return by_day if dimension == "day" else _weeks(by_day, first)


class _Groups(NamedTuple):
    """Rows with a code each, what the codes are called, and what can be added up."""

    codes: Array
    name: Callable[[int], str]
    facts: Sequence[Array]

    @property
    def size(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    def sums(self, column: Array) -> Array:
        return _sums(self.codes, column, self.size)


def _weeks(by_day: _Groups, first: int) -> _Groups:
    """Days by their weeks. A week begins on a Monday, as the third day before 1970 was."""
    numbers = np.arange(by_day.size)
    weeks = (first + numbers - 1 + 3) // 7
    first_week = (first + 3) // 7
    codes = np.where(numbers > 0, weeks - first_week + 1, 0)
    return _Groups(
        codes,
        lambda i: days.week_name((first_week + i - 1) * 7 - 3) if i else "",
        [by_day.sums(column) for column in by_day.facts],
    )


def _sums(codes: Array, values: Array, size: int) -> Array:
    """For each code the sum of its values; exact below 2 to the power of 53."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.int64)


def _at(sums: Sequence[Array], i: int) -> Iterator[int]:
    return (int(column[i]) for column in sums)


def _pairs(a: Array, b: Array, size: int) -> tuple[Array, Array]:
    """Pairs as numbers `a * size + b`, and for each row where its pair stands among them."""
    both = a.astype(np.int64) * max(size, 1) + b
    most = int(both.max(initial=-1)) + 1
    if most <= _MAX_DENSE:
        return np.arange(most), both
    return np.unique(both, return_inverse=True)


def _total(used: Spent) -> Tokens:
    return Tokens(*(int(column.sum()) for column in used.tokens))


def _order(dimension: Dimension) -> Callable[[tuple[str, Tokens]], tuple[object, ...]]:
    """Days and weeks as they went by; else those that took most first."""
    if dimension in ("day", "week"):
        return lambda item: (item[0],)
    return lambda item: (-sum(item[1][:4]), item[0])
