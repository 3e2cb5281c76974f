"""What the chosen turns cost, in trillionths of a dollar.

Every sum is of whole numbers. Sub-agents belong to the session that started them. A message that
forks and copies repeat counts once, at its earliest place, like its tokens. Where a session has no
token counts, what its client counted takes their place, at its first turn.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ccgrep.fulltext.document_id import KINDS
from ccgrep.stats.column_file import Array, ColumnFile
from ccgrep.stats.duplicates import TOKENS, rows_of, surpluses
from ccgrep.stats.merged_tally import MergedTally
from ccgrep.stats.prices import Prices, find_price
from ccgrep.stats.shard_tally import NO_COST, Rate

_LOW_BITS = 20
_MAX_DEPTH = 16  # of sub-agents that started sub-agents


class ClientCosts(NamedTuple):
    """What clients counted for whole sessions, in trillionths of a dollar.

    `filled` is for sessions without token counts, and is part of the cost. `counted` and `ours` are
    for the sessions that have both, of which all turns are chosen.
    """

    filled: int = 0
    counted: int = 0
    ours: int = 0
    sessions: int = 0

    @property
    def difference(self) -> int:
        return self.counted - self.ours


class Costs:
    """The costs of the chosen turns. `counted` leaves out the later places of a turn."""

    def __init__(
        self,
        tally: MergedTally,
        duplicates: ColumnFile,
        prices: Prices,
        chosen: Array,
        counted: Array,
    ) -> None:
        self._tally = tally
        self._duplicates = duplicates
        self._chosen = chosen
        self._counted = counted
        self.rates = [Rate.decode(word) for word in tally.words("rate")]
        found = [find_price(prices, rate.model) for rate in self.rates]
        self.is_priced = np.array([price is not None for price in found], dtype=bool)
        self._table = np.zeros((len(TOKENS), len(found)), dtype=np.int64)
        for i, (rate, price) in enumerate(zip(self.rates, found, strict=True)):
            if price is not None:
                at = price.at(rate.context)
                # The last column counts a part of the one before it.
                self._table[:, i] = (*at[:4], at.cache_write_1h - at.cache_write_5m)

    @cached_property
    def by_turn(self) -> Array:
        """The cost of each turn, with what clients counted in place of unknown tokens."""
        totals = self._of_messages.copy()
        rows, costs = self._fillings
        np.add.at(totals, rows, costs)
        return totals

    def of_rate(self, rate: int, tokens: Sequence[int]) -> int:
        """Return the cost of tokens of the kinds in TOKENS. The sum may exceed 64 bits."""
        prices = self._table[:, rate].tolist()
        return sum(price * count for price, count in zip(prices, tokens, strict=True))

    @cached_property
    def _of_messages(self) -> Array:
        totals = np.zeros(self._tally.turns, dtype=np.int64)
        for turns, turn, cost in self._rows():
            size = turns.stop - turns.start
            totals[turns] = sum_whole(turn - turns.start, cost, size)
        turn, cost = self._surplus
        totals -= sum_whole(turn, cost, len(totals))
        return totals

    def _rows(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the range of turns of each shard, and turn and cost of its chosen rows."""
        names = ("turn", "rate", *TOKENS)
        for turns, (turn, rate, *counts) in self._tally.by_shard("usage", *names):
            rows = rows_of(self._chosen[turn])
            yield turns, turn[rows], self._price(rate[rows], [c[rows] for c in counts])

    @cached_property
    def has_price(self) -> Array:
        """1 for each turn that has tokens of a model with a price, else 0."""
        turns = np.zeros(self._tally.turns, dtype=np.int64)
        names = ("turn", "rate", *TOKENS)
        for _, (turn, rate, *counts) in self._tally.by_shard("usage", *names):
            turns[turn[self._chosen[turn] & self.is_priced[rate] & np.any(counts, axis=0)]] = 1
        return turns

    def unpriced_uses(self) -> Iterator[tuple[int, int]]:
        """Yield the turn and the rate of each use of a model that has no price."""
        names = ("turn", "rate", *TOKENS)
        for _, (turn, rate, *counts) in self._tally.by_shard("usage", *names):
            is_use = self._counted[turn] & ~self.is_priced[rate] & np.any(counts, axis=0)
            yield from zip(turn[is_use].tolist(), rate[is_use].tolist(), strict=True)

    @cached_property
    def _surplus(self) -> tuple[Array, Array]:
        """Turn and cost of what repeated messages count too much."""
        rows = rows_of(self._chosen[self._duplicates.column("share.turn")])
        turn = self._duplicates.column("share.turn")[rows]
        rate = self._duplicates.column("share.rate")[rows]
        counts = [surplus.astype(np.int64) for _, surplus in surpluses(self._duplicates, rows)]
        if not counts:
            return turn, np.zeros(len(turn), dtype=np.int64)
        return turn, self._price(rate, counts[: len(TOKENS)])

    def _price(self, rate: Array, counts: list[Array]) -> Array:
        cost: Array = np.zeros(len(rate), dtype=np.int64)
        for price, count in zip(self._table, counts, strict=True):
            cost += price[rate] * count
        return cost

    @cached_property
    def tops(self) -> Array:
        """The row of the session that each session is part of: itself, unless it is a sub-agent."""
        tally = self._tally
        ids, parents = tally["session.id"], tally["session.parent"]
        rows = np.arange(len(ids))
        is_part = np.isin(tally["session.kind"], [KINDS.index(k) for k in ("subagent", "worker")])
        if not is_part.any():
            return rows
        order = np.argsort(ids, kind="stable")
        at = np.minimum(np.searchsorted(ids, parents, sorter=order), len(ids) - 1)
        is_known = is_part & (ids[order[at]] == parents)
        above = np.where(is_known, order[at], rows)
        for _ in range(_MAX_DEPTH):
            above = above[above]
        return above

    @cached_property
    def _session(self) -> Array:
        """The row of the session that each turn is part of."""
        rows: Array = self.tops[self._tally["turn.session"]]
        return rows

    @cached_property
    def _has_tokens(self) -> Array:
        """A mask of the sessions in whose trees any message has token counts."""
        turns = np.zeros(self._tally.turns, dtype=bool)
        for _, (turn, *counts) in self._tally.by_shard("usage", "turn", *TOKENS[:-1]):
            turns[turn[np.any(counts, axis=0)]] = True
        mask = np.zeros(self._tally.sessions, dtype=bool)
        mask[self._session[turns]] = True
        return mask

    @cached_property
    def _client(self) -> Array:
        """What the client counted for each session that is not part of another, or NO_COST."""
        tally = self._tally
        client = tally["session.client_cost"]
        return np.where(self.tops == np.arange(tally.sessions), client, NO_COST)

    @cached_property
    def _fillings(self) -> tuple[Array, Array]:
        """First turns of sessions without token counts, and what their client counted."""
        session = self._tally["turn.session"]
        if not (self._client != NO_COST).any():
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        first = np.flatnonzero(np.concatenate(([True], session[1:] != session[:-1])))
        of = session[first]
        is_unknown = (self._client[of] != NO_COST) & ~self._has_tokens[of]
        rows = first[is_unknown & self._counted[first]]
        return rows, self._client[session[rows]]

    @cached_property
    def clients(self) -> ClientCosts:
        """Compare with what clients counted, for the sessions whose turns are all chosen."""
        filled = int(self._fillings[1].sum())
        if not (self._client != NO_COST).any():
            return ClientCosts()
        is_partial = np.zeros(self._tally.sessions, dtype=bool)
        is_partial[self._session[~self._chosen]] = True
        both = (self._client != NO_COST) & self._has_tokens & ~is_partial
        costs = sum_whole(self._session, self._of_messages, self._tally.sessions)
        counted, ours = int(self._client[both].sum()), int(costs[both].sum())
        return ClientCosts(filled, counted, ours, int(both.sum()))


def sum_whole(codes: Array, values: Array, size: int) -> Array:
    """Sum whole numbers by code, exactly.

    `bincount` sums floats, which are exact below 2**53. So it sums high and low bits apart.
    """
    high = np.bincount(codes, weights=values >> _LOW_BITS, minlength=size).astype(np.int64)
    low = np.bincount(codes, weights=values & (2**_LOW_BITS - 1), minlength=size)
    total: Array = (high << _LOW_BITS) + low.astype(np.int64)
    return total
