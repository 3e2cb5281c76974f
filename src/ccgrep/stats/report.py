"""Counts the turns that pass the filters by tool, shell command, source, project, model and day."""

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import add
from typing import Literal, NamedTuple

import numpy as np

from ccgrep.search.request import Filters
from ccgrep.stats import days
from ccgrep.stats.column_file import Array
from ccgrep.stats.costs import ClientCosts, Costs, sum_whole
from ccgrep.stats.duplicates import (
    drop_copies,
    rows_of,
    sum_by_code,
    tokens_by_rate,
    tokens_by_turn,
    values_at,
)
from ccgrep.stats.grouping import Grouping, group_months, group_weeks
from ccgrep.stats.prices import Prices
from ccgrep.stats.shard_tally import COMPOUND, PRIVILEGED, ShellUse
from ccgrep.stats.tallies import Tallies
from ccgrep.stats.tool_projects import ToolProjects
from ccgrep.stats.turn_filter import filter_turns

Dimension = Literal["source", "project", "model", "day", "week", "month", "session"]


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


class Spent(NamedTuple):
    """The tokens of a group and what they cost, in trillionths of a dollar.

    `is_priced` is false if there are tokens, but none of a model that has a price.
    """

    name: str
    tokens: Tokens
    cost: int
    project: str = ""  # of a session
    is_priced: bool = True


class DayCost(NamedTuple):
    """What was spent in trillionths of a dollar, without the models that have no price."""

    cost: int = 0
    unpriced: tuple[str, ...] = ()


class TokenReport(NamedTuple):
    """Tokens and their cost. `unpriced` are the tokens of models without a price."""

    total: Spent
    by: dict[Dimension, tuple[Spent, ...]]
    unpriced: tuple[Spent, ...] = ()
    clients: ClientCosts = ClientCosts()


class Report:
    """Reports about the turns that pass the filters. Each turn is counted once.

    `chosen` and `counted` are masks of turns, with and without further places of the same turn.
    """

    def __init__(self, tallies: Tallies, filters: Filters, prices: Prices | None = None) -> None:
        self._tally, self._duplicates = tallies
        self._prices = prices or {}
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
        projects = ToolProjects(self._tally) if with_projects else None
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
            ToolUse(names[i], by_tool.get(i, ()), *values_at(totals, i))
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

    def tokens(self, dimensions: Sequence[Dimension], by_cost: bool = False) -> TokenReport:
        """Return tokens and costs of groups, those with the most tokens or costs first."""
        costs = self._costs
        by: dict[Dimension, tuple[Spent, ...]] = {}
        for dimension in dimensions:
            rows = self._spent_by_model() if dimension == "model" else self._spent(dimension)
            by[dimension] = tuple(sorted(rows, key=_sort_key(dimension, by_cost)))
        total = Spent("", _total(self._tokens), int(costs.by_turn.sum()))
        return TokenReport(total, by, self._unpriced(), costs.clients)

    def cost_by_day_and_project(self) -> dict[tuple[str, str], DayCost]:
        """Return what was spent, and on which models without a price."""
        days_of_turns = self._days
        projects = self._tally.words("project")
        project = self._tally["session.project"][self._tally["turn.session"]].astype(np.int64)
        pairs = days_of_turns.codes * max(len(projects), 1) + project
        distinct, at = np.unique(pairs, return_inverse=True)
        costs = sum_whole(at, self._costs.by_turn, len(distinct))
        models: dict[int, set[str]] = {}
        for turn, rate in self._costs.unpriced_uses():
            models.setdefault(int(pairs[turn]), set()).add(self._costs.rates[rate].model)
        found: dict[tuple[str, str], DayCost] = {}
        for pair, cost in zip(distinct.tolist(), costs.tolist(), strict=True):
            day, number = divmod(pair, len(projects))
            if cost or pair in models:
                spent = DayCost(cost, tuple(sorted(models.get(pair, ()))))
                found[days_of_turns.name(day), projects[number]] = spent
        return found

    def _spent(self, dimension: Dimension) -> list[Spent]:
        groups = self._group_by(dimension)
        columns = groups.columns[-len(Tokens._fields) :]
        totals = [groups.sum(column) for column in columns]
        costs = self._sum_by(dimension, groups, self._costs.by_turn)
        is_unpriced = (costs == 0) & np.any(totals[:-1], axis=0)
        if is_unpriced.any() and not self._costs.is_priced.all():
            is_unpriced &= self._sum_by(dimension, groups, self._costs.has_price) == 0
        else:
            is_unpriced[:] = False
        used = np.flatnonzero((totals[-1] != 0) | (costs != 0))
        columns = [column[used].astype(np.int64).tolist() for column in (costs, *totals)]
        projects = self._projects_of(used) if dimension == "session" else [""] * len(used)
        rows = zip(used.tolist(), projects, *columns, strict=True)
        return [
            Spent(groups.name(i), Tokens(*counts), cost, project, not is_unpriced[i])
            for i, project, cost, *counts in rows
        ]

    def _sum_by(self, dimension: Dimension, groups: Grouping, by_turn: Array) -> Array:
        """Sum a column of whole numbers per turn by the groups of a dimension, exactly."""
        if dimension in ("project", "source"):
            session = self._tally["turn.session"]
            by_turn = sum_whole(session, by_turn, self._tally.sessions)
        elif dimension in ("week", "month"):
            by_turn = sum_whole(self._days.codes, by_turn, self._days.size)
        return sum_whole(groups.codes, by_turn, groups.size)

    def _projects_of(self, sessions: Array) -> list[str]:
        words = self._tally.words("project")
        return [words[code] for code in self._tally["session.project"][sessions].tolist()]

    def _spent_by_model(self) -> list[Spent]:
        found: dict[str, Spent] = {}
        for spent in self._spent_by_rate(np.ones(len(self._costs.rates), dtype=bool)):
            known = found.get(spent.name, Spent(spent.name, Tokens(), 0))
            found[spent.name] = known._replace(
                tokens=Tokens(*map(add, known.tokens, spent.tokens)),
                cost=known.cost + spent.cost,
                is_priced=known.is_priced and spent.is_priced,
            )
        filled = self._costs.clients.filled
        known = found.get("", Spent("", Tokens(), 0))
        rows = {**found, "": known._replace(cost=known.cost + filled)} if filled else found
        return list(rows.values())

    def _spent_by_rate(self, mask: Array) -> list[Spent]:
        return [spent for i, spent in self._by_rate if mask[i]]

    @cached_property
    def _by_rate(self) -> list[tuple[int, Spent]]:
        """The rates that were used, with their numbers."""
        costs, found = self._costs, []
        totals = tokens_by_rate(self._tally, self._duplicates, self.chosen)
        for i in np.flatnonzero(totals[-1]).tolist():
            *tokens, messages = values_at(totals, i)
            used = Tokens(*tokens[:4])._replace(messages=messages)
            is_priced = bool(costs.is_priced[i]) or not any(used[:4])
            cost = costs.of_rate(i, tokens)
            found.append((i, Spent(costs.rates[i].model, used, cost, is_priced=is_priced)))
        return found

    def _unpriced(self) -> tuple[Spent, ...]:
        """Return the models without a price that have tokens."""
        found: dict[str, Tokens] = {}
        for spent in self._spent_by_rate(~self._costs.is_priced):
            if sum(spent.tokens[:4]):
                known = found.get(spent.name, Tokens())
                found[spent.name] = Tokens(*map(add, known, spent.tokens))
        rows = (Spent(name, tokens, 0, is_priced=False) for name, tokens in found.items())
        return tuple(sorted(rows, key=_sort_key("model")))

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self._tally, self._duplicates, self._prices, self.chosen, self.counted)

    def _groups(self, dimension: Dimension) -> tuple[Group, ...]:
        """Return the groups of a dimension, those with the most turns first."""
        codes = self._group_by(dimension)
        turns, calls, *tokens = (codes.sum(column) for column in codes.columns)
        sessions = self._count_sessions(dimension, codes)
        groups = [
            Group(
                codes.name(i), int(sessions[i]), int(turns[i]), int(calls[i]),
                Tokens(*values_at(tokens, i)),
            )
            for i in np.flatnonzero(sessions).tolist()
        ]  # fmt: skip
        return tuple(sorted(groups, key=lambda group: (-group.turns, group.name)))

    def _count_sessions(self, dimension: Dimension, groups: Grouping) -> Array:
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
        *tokens, _, messages = tokens_by_turn(self._tally, self._duplicates, self.chosen)
        return np.array([*tokens, messages])

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

    def _group_by(self, dimension: Dimension) -> Grouping:
        """Group turns, days or sessions by a dimension."""
        tally = self._tally
        if dimension == "session":
            ids: list[bytes] = tally["session.id"].tolist()
            codes = self._costs.tops[tally["turn.session"]]
            return Grouping(codes, lambda i: ids[i].decode(), self._by_turn)
        if dimension == "source":
            codes = tally["session.source"].astype(np.intp)
            return Grouping(codes, tally.words("source").__getitem__, self._by_session)
        if dimension == "project":
            codes = tally["session.project"].astype(np.intp)
            return Grouping(codes, tally.words("project").__getitem__, self._by_session)
        first = self._first_day
        if dimension == "month":
            return group_months(self._days, first)
        return self._days if dimension == "day" else group_weeks(self._days, first)

    @cached_property
    def _local_days(self) -> tuple[Array, int]:
        return days.local_days(self._tally["turn.started"])

    @property
    def _first_day(self) -> int:
        return self._local_days[1]

    @cached_property
    def _days(self) -> Grouping:
        numbers, first = self._local_days
        return Grouping(numbers, lambda i: days.day_name(first + i - 1) if i else "", self._by_turn)


def _total(tokens: Array) -> Tokens:
    return Tokens(*(int(row.sum()) for row in tokens))


def _sort_key(dimension: Dimension, by_cost: bool = False) -> Callable[[Spent], tuple[object, ...]]:
    """Sort days, weeks and months by time, and other groups by size, the largest first."""
    if dimension in ("day", "week", "month"):
        return lambda spent: (spent.name,)
    return lambda spent: (by_cost * -spent.cost, -sum(spent.tokens[:4]), spent.name)
