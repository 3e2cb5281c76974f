"""Counts the turns that pass the filters by tool, shell command, source, project, model and day."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from ccgrep.search.request import Filters
from ccgrep.stats import days
from ccgrep.stats.column_file import Array
from ccgrep.stats.duplicates import (
    drop_copies,
    rows_of,
    sum_by_code,
    tokens_by_model,
    tokens_by_turn,
)
from ccgrep.stats.merged_tally import MergedTally
from ccgrep.stats.shard_tally import COMPOUND, PRIVILEGED, ShellUse
from ccgrep.stats.tallies import Tallies
from ccgrep.stats.turn_filter import filter_turns

_MAX_DENSE_PAIRS = 50_000
Dimension = Literal["source", "project", "model", "day", "week"]


class Tokens(NamedTuple):
    """Tokens of API messages, each counted once. `input` excludes cache reads and writes."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    messages: int = 0


class Group(NamedTuple):
    """The counts of one project, day or source. The name "" means unknown."""

    name: str
    sessions: int
    turns: int
    calls: int
    tokens: Tokens


class ToolUse(NamedTuple):
    tool: str
    projects: tuple[tuple[str, int, int], ...]  # project, calls, errors; most calls first
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
    """Reports about the turns that pass the filters. Each turn is counted once.

    `chosen` and `counted` are masks of turns, with and without further places of the same turn.
    """

    def __init__(self, tallies: Tallies, filters: Filters) -> None:
        self._tally, self._duplicates = tallies
        self.chosen = filter_turns(self._tally, filters)
        self.counted = drop_copies(self._duplicates, self.chosen)

    def overview(self) -> Overview:
        tally, counted = self._tally, self.counted
        started = tally["turn.started"][self.chosen]
        known = started[started != 0]
        tools = self.tools(with_projects=False)
        return Overview(
            sessions=int(np.count_nonzero(self._has_session)),
            turns=int(counted.sum()),
            copies=int(self.chosen.sum() - counted.sum()),
            messages=int(tally["turn.messages"][counted].sum(dtype=np.int64)),
            calls=sum(use.calls for use in tools),
            errors=sum(use.errors for use in tools),
            tokens=_total(self._tokens),
            first=int(known.min()) if len(known) else None,
            last=int(known.max()) if len(known) else None,
            sources=self._groups("source"),
            projects=self._groups("project"),
            days=self._groups("day"),
            tools=tools,
        )

    def tools(self, with_projects: bool = True) -> tuple[ToolUse, ...]:
        """Return every tool, the most used first."""
        names = self._tally.words("tool")
        totals = np.zeros((3, len(names)))
        projects = _ToolProjects(self._tally) if with_projects else None
        columns = ("turn", "name", "calls", "errors")
        for _, (turn, name, calls, errors) in self._tally.by_shard("tool", *columns):
            rows = rows_of(self.counted[turn])
            counted = name[rows], calls[rows], errors[rows]
            totals[0] += sum_by_code(counted[0], counted[1], len(names))
            totals[1] += sum_by_code(counted[0], counted[2], len(names))
            totals[2] += np.bincount(counted[0], minlength=len(names))
            if projects is not None:
                projects.add(turn[rows], *counted)
        by_tool = projects.by_tool() if projects is not None else {}
        uses = [
            ToolUse(names[i], by_tool.get(i, ()), *_at(totals, i))
            for i in np.flatnonzero(totals[0]).tolist()
        ]
        return tuple(sorted(uses, key=lambda use: (-use.calls, use.tool)))

    def bash(self) -> tuple[BashUse, ...]:
        """Return every base command with its subcommand, the most used first."""
        totals: dict[tuple[str, str], list[int]] = {}
        for use, count, errors in self.shell_uses():
            total = totals.setdefault((use.base, use.sub), [0, 0, 0, 0])
            total[0] += count
            total[1] += errors
            total[2] += count if use.flags & COMPOUND else 0
            total[3] += count if use.flags & PRIVILEGED else 0
        uses = [BashUse(*names, *total) for names, total in totals.items()]
        return tuple(sorted(uses, key=lambda use: (-use.uses, use.base, use.sub)))

    def shell_uses(self) -> list[tuple[ShellUse, int, int]]:
        """Return every kind of shell command, with the number of its uses and errors."""
        words = self._tally.words("use")
        totals = np.zeros((2, len(words)))
        columns = ("turn", "use", "count", "errors")
        for _, (turn, use, *counts) in self._tally.by_shard("bash", *columns):
            rows = rows_of(self.counted[turn])
            for i, column in enumerate(counts):
                totals[i] += sum_by_code(use[rows], column[rows], len(words))
        used = np.flatnonzero(totals[0]).tolist()
        return [(ShellUse.decode(words[i]), int(totals[0][i]), int(totals[1][i])) for i in used]

    def tokens(self, dimensions: Sequence[Dimension]) -> TokenReport:
        by: dict[Dimension, tuple[tuple[str, Tokens], ...]] = {}
        for dimension in dimensions:
            groups = self._group_by(dimension)
            totals = [groups.sum(column) for column in groups.columns[-len(Tokens._fields) :]]
            used = np.flatnonzero(totals[-1]).tolist()
            rows = [(groups.name(i), Tokens(*_at(totals, i))) for i in used]
            by[dimension] = tuple(sorted(rows, key=_sort_key(dimension)))
        return TokenReport(_total(self._tokens), by)

    def _groups(self, dimension: Dimension) -> tuple[Group, ...]:
        """Return the groups of a dimension, those with the most turns first."""
        codes = self._group_by(dimension)
        turns, calls, *tokens = (codes.sum(column) for column in codes.columns)
        sessions = self._count_sessions(dimension, codes)
        groups = [
            Group(
                codes.name(i), int(sessions[i]), int(turns[i]), int(calls[i]),
                Tokens(*_at(tokens, i)),
            )
            for i in np.flatnonzero(sessions).tolist()
        ]  # fmt: skip
        return tuple(sorted(groups, key=lambda group: (-group.turns, group.name)))

    def _count_sessions(self, dimension: Dimension, groups: "_Grouping") -> Array:
        """Count the sessions that have a chosen turn in each group."""
        if dimension in ("source", "project"):
            return groups.sum(self._has_session)
        session = self._tally["turn.session"][self.chosen].astype(np.int64)
        size = max(groups.size, 1)
        pairs = np.sort(session * size + groups.codes[self.chosen])
        distinct = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))] if len(pairs) else pairs
        return np.bincount(distinct % size, minlength=groups.size)

    @cached_property
    def _tokens(self) -> Array:
        return tokens_by_turn(self._tally, self._duplicates, self.chosen)

    @cached_property
    def _has_session(self) -> Array:
        """A mask of the sessions that have a chosen turn."""
        mask = np.zeros(self._tally.sessions, dtype=bool)
        mask[self._tally["turn.session"][self.chosen]] = True
        return mask

    @cached_property
    def _by_turn(self) -> list[Array]:
        """Columns per turn: whether it is counted, its calls, its tokens."""
        return [self.counted, self._tally["turn.calls"] * self.counted, *self._tokens]

    @cached_property
    def _by_session(self) -> list[Array]:
        """The sums of these columns per session."""
        session = self._tally["turn.session"].astype(np.intp)
        return [sum_by_code(session, column, self._tally.sessions) for column in self._by_turn]

    def _group_by(self, dimension: Dimension) -> "_Grouping":
        """Group turns, sessions or models by a dimension."""
        tally = self._tally
        if dimension == "model":
            models = tally.words("model")
            tokens = tokens_by_model(tally, self._duplicates, self.chosen)
            return _Grouping(np.arange(len(models)), models.__getitem__, list(tokens))
        if dimension == "source":
            codes = tally["session.source"].astype(np.intp)
            return _Grouping(codes, tally.words("source").__getitem__, self._by_session)
        if dimension == "project":
            codes = tally["session.project"].astype(np.intp)
            return _Grouping(codes, tally.words("project").__getitem__, self._by_session)
        numbers, first = days.local_days(tally["turn.started"])
        by_day = _Grouping(
            numbers, lambda i: days.day_name(first + i - 1) if i else "", self._by_turn
        )
        return by_day if dimension == "day" else _group_weeks(by_day, first)


class _ToolProjects:
    """Sums the calls and errors of each tool in each project, shard by shard.

    The sums are an array with a slot for each pair of tool and project, or a dictionary if there
    would be too many slots.
    """

    def __init__(self, tally: MergedTally) -> None:
        self._project = tally["session.project"][tally["turn.session"]]
        self._names = tally.words("project")
        size = len(tally.words("tool")) * len(self._names)
        self._dense: Array = np.zeros((2, size if size <= _MAX_DENSE_PAIRS else 0))
        self._sparse: dict[int, tuple[int, int]] = {}

    def add(self, turn: Array, tool: Array, calls: Array, errors: Array) -> None:
        pairs = tool.astype(np.int64) * len(self._names) + self._project[turn]
        if size := self._dense.shape[1]:
            self._dense[0] += sum_by_code(pairs, calls, size)
            self._dense[1] += sum_by_code(pairs, errors, size)
            return
        distinct, at = np.unique(pairs, return_inverse=True)
        sums = [sum_by_code(at, column, len(distinct)) for column in (calls, errors)]
        for i, pair in enumerate(distinct.tolist()):
            known = self._sparse.get(pair, (0, 0))
            self._sparse[pair] = known[0] + int(sums[0][i]), known[1] + int(sums[1][i])

    def by_tool(self) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """Return the projects of each tool, those with the most calls first."""
        dense = {i: tuple(_at(self._dense, i)) for i in np.flatnonzero(self._dense[0]).tolist()}
        projects: dict[int, list[tuple[str, int, int]]] = {}
        for pair, (calls, errors) in (dense | self._sparse).items():
            tool, project = divmod(pair, len(self._names))
            projects.setdefault(tool, []).append((self._names[project], calls, errors))
        return {
            tool: tuple(sorted(rows, key=lambda row: (-row[1], row[0])))
            for tool, rows in projects.items()
        }


class _Grouping(NamedTuple):
    """Rows with a group code each, the names of the groups, and columns to sum."""

    codes: Array
    name: Callable[[int], str]
    columns: Sequence[Array]

    @property
    def size(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    def sum(self, column: Array) -> Array:
        return sum_by_code(self.codes, column, self.size)


def _group_weeks(by_day: _Grouping, first: int) -> _Grouping:
    """Group days by ISO week. Weeks start on Monday, and 1970-01-01 was a Thursday."""
    numbers = np.arange(by_day.size)
    weeks = (first + numbers - 1 + 3) // 7
    first_week = (first + 3) // 7
    codes = np.where(numbers > 0, weeks - first_week + 1, 0)
    return _Grouping(
        codes,
        lambda i: days.week_name((first_week + i - 1) * 7 - 3) if i else "",
        [by_day.sum(column) for column in by_day.columns],
    )


def _at(totals: Iterable[Array], i: int) -> Iterator[int]:
    return (int(column[i]) for column in totals)


def _total(tokens: Array) -> Tokens:
    return Tokens(*(int(row.sum()) for row in tokens))


def _sort_key(dimension: Dimension) -> Callable[[tuple[str, Tokens]], tuple[object, ...]]:
    """Sort days and weeks by time, and other groups by tokens, the largest first."""
    if dimension in ("day", "week"):
        return lambda item: (item[0],)
    return lambda item: (-sum(item[1][:4]), item[0])
