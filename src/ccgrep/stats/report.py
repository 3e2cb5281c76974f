"""What is told of the turns that were chosen: counts by tool, command, project, model and day."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from ccgrep.search.request import Filters
from ccgrep.stats import days
from ccgrep.stats.columns import Array
from ccgrep.stats.select import selected
from ccgrep.stats.shared import (
    counted_once,
    rows_of,
    spent_by_model,
    spent_by_turn,
    sums,
)
from ccgrep.stats.tables import Tables
from ccgrep.stats.tally import COMPOUND, PRIVILEGED, SOURCES, Use
from ccgrep.stats.update import Opened

_MAX_PAIRS = 50_000
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
        words = self._tables.words("tool")
        totals = np.zeros((3, len(words)))
        projects = _Projects(self._tables) if with_projects else None
        columns = ("turn", "name", "calls", "errors")
        for _, (turn, name, calls, errors) in self._tables.pieces("tool", *columns):
            rows = rows_of(self.counted[turn])
            used = name[rows], calls[rows], errors[rows]
            totals[0] += sums(used[0], used[1], len(words))
            totals[1] += sums(used[0], used[2], len(words))
            totals[2] += np.bincount(used[0], minlength=len(words))
            if projects is not None:
                projects.add(turn[rows], *used)
        by_tool = projects.by_tool() if projects is not None else {}
        found = [
            ToolUse(words[i], by_tool.get(i, ()), *_at(totals, i))
            for i in np.flatnonzero(totals[0]).tolist()
        ]
        return tuple(sorted(found, key=lambda use: (-use.calls, use.tool)))

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
        words = self._tables.words("use")
        totals = np.zeros((2, len(words)))
        for _, (turn, use, *counts) in self._tables.pieces(
            "bash", "turn", "use", "count", "errors"
        ):
            rows = rows_of(self.counted[turn])
            for i, column in enumerate(counts):
                totals[i] += sums(use[rows], column[rows], len(words))
        used = np.flatnonzero(totals[0]).tolist()
        return [(Use.of_word(words[i]), int(totals[0][i]), int(totals[1][i])) for i in used]

    def tokens(self, dimensions: Sequence[Dimension]) -> TokenReport:
        by: dict[Dimension, tuple[tuple[str, Tokens], ...]] = {}
        for dimension in dimensions:
            groups = self._grouped(dimension)
            totals = [groups.sums(column) for column in groups.facts[-len(Tokens._fields) :]]
            used = np.flatnonzero(totals[-1]).tolist()
            found = [(groups.name(i), Tokens(*_at(totals, i))) for i in used]
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
    def _spent(self) -> Array:
        return spent_by_turn(self._tables, self._shared, self.chosen)

    @cached_property
    def _has_session(self) -> Array:
        """Which sessions have a chosen turn."""
        has = np.zeros(len(self._tables["session.kind"]), dtype=bool)
        has[self._tables["turn.session"][self.chosen]] = True
        return has

    @cached_property
    def _by_turn(self) -> list[Array]:
        """For each turn: whether it is counted, its calls, its tokens."""
        return [self.counted, self._tables["turn.calls"] * self.counted, *self._spent]

    @cached_property
    def _by_session(self) -> list[Array]:
        """The same for each session."""
        session = self._tables["turn.session"].astype(np.intp)
        size = len(self._tables["session.kind"])
        return [sums(session, column, size) for column in self._by_turn]

    def _grouped(self, dimension: Dimension) -> "_Groups":
        """Turns, sessions or models by a dimension."""
        tables = self._tables
        if dimension == "model":
            words = tables.words("model")
            spent = spent_by_model(tables, self._shared, self.chosen)
            return _Groups(np.arange(len(words)), words.__getitem__, list(spent))
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


class _Projects:
    """Calls and errors of each tool in each project, added up part by part."""

    def __init__(self, tables: Tables) -> None:
        self._project = tables["session.project"][tables["turn.session"]]
        self._words = tables.words("project")
        size = len(tables.words("tool")) * len(self._words)
        self._few: Array = np.zeros((2, size if size <= _MAX_PAIRS else 0))
        self._many: dict[int, tuple[int, int]] = {}

    def add(self, turn: Array, tool: Array, calls: Array, errors: Array) -> None:
        pairs = tool.astype(np.int64) * len(self._words) + self._project[turn]
        if size := self._few.shape[1]:
            self._few[0] += sums(pairs, calls, size)
            self._few[1] += sums(pairs, errors, size)
            return
        seen, at = np.unique(pairs, return_inverse=True)
        both = [sums(at, column, len(seen)) for column in (calls, errors)]
        for i, pair in enumerate(seen.tolist()):
            known = self._many.get(pair, (0, 0))
            self._many[pair] = known[0] + int(both[0][i]), known[1] + int(both[1][i])

    def by_tool(self) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """For each tool its projects, those that used it most first."""
        few = {i: tuple(_at(self._few, i)) for i in np.flatnonzero(self._few[0]).tolist()}
        found: dict[int, list[tuple[str, int, int]]] = {}
        for pair, (calls, errors) in (few | self._many).items():
            tool, where = divmod(pair, len(self._words))
            found.setdefault(tool, []).append((self._words[where], calls, errors))
        return {
            tool: tuple(sorted(uses, key=lambda use: (-use[1], use[0])))
            for tool, uses in found.items()
        }


class _Groups(NamedTuple):
    """Rows with a code each, what the codes are called, and what can be added up."""

    codes: Array
    name: Callable[[int], str]
    facts: Sequence[Array]

    @property
    def size(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    def sums(self, column: Array) -> Array:
        return sums(self.codes, column, self.size)


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


def _at(sums: Iterable[Array], i: int) -> Iterator[int]:
    return (int(column[i]) for column in sums)


def _total(spent: Array) -> Tokens:
    return Tokens(*(int(row.sum()) for row in spent))


def _order(dimension: Dimension) -> Callable[[tuple[str, Tokens]], tuple[object, ...]]:
    """Days and weeks as they went by; else those that took most first."""
    if dimension in ("day", "week"):
        return lambda item: (item[0],)
    return lambda item: (-sum(item[1][:4]), item[0])
