"""Turns and API messages that occur in several places, as in forks, copies and resumed sessions.

Reports count a turn once among the places that pass the filters. They count the tokens of an API
message once, at the earliest place, where they were spent. Finding duplicates means sorting all
keys, so the result is kept in a column file that holds for any filter:

    copy      turn, group: the places of one turn, the earliest first
    share     turn, group, rate, tokens: those of one message
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ccgrep.stats.column_file import Array, ColumnFile, encode
from ccgrep.stats.merged_tally import MergedTally

_PREFILTER_SIZE = 2**24
TOKENS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
"""The columns of tokens. The last one counts a part of the one before it."""


def find_duplicates(tally: MergedTally) -> bytes:
    """Return the column file of duplicates."""
    copies = _repeated_rows(tally["turn.object"])
    copies = copies[_earliest_first(tally, copies, tally["turn.object"][copies])]
    rows = _repeated_rows(tally["key.key"])
    turns, keys = tally.take("key.turn", rows), tally["key.key"][rows]
    order = _earliest_first(tally, turns, keys)
    columns: dict[str, Array] = {
        "copy.turn": copies.astype(np.uint32),
        "copy.group": _number_groups(tally["turn.object"][copies]),
        "share.turn": turns[order],
        "share.group": _number_groups(keys[order]),
        "share.rate": tally.take("key.rate", rows)[order],
    }
    columns |= {f"share.{name}": tally.take(f"key.{name}", rows)[order] for name in TOKENS}
    return encode(columns, {})


def _repeated_rows(hashes: Array) -> Array:
    """Return the rows whose hash occurs again.

    A table of the hashes' low bits rules out most rows. This takes a tenth of the time of `isin`.
    """
    ordered = np.sort(hashes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return np.zeros(0, dtype=np.int64)
    bits = np.uint64(_PREFILTER_SIZE - 1)
    may_repeat = np.zeros(_PREFILTER_SIZE, dtype=bool)
    may_repeat[repeated & bits] = True
    rows = np.flatnonzero(may_repeat[hashes & bits])
    at = np.minimum(np.searchsorted(repeated, hashes[rows]), len(repeated) - 1)
    confirmed: Array = rows[repeated[at] == hashes[rows]]
    return confirmed


def _earliest_first(tally: MergedTally, turns: Array, keys: Array) -> Array:
    """Return the order by key, then by time (unknown times last), then by place."""
    started = tally["turn.started"][turns]
    return np.lexsort((turns, started, started == 0, keys))


def _number_groups(keys: Array) -> Array:
    """Number the runs of equal keys in a sorted array from 0."""
    if not len(keys):
        return np.zeros(0, dtype=np.uint32)
    return np.cumsum(np.concatenate(([False], keys[1:] != keys[:-1])), dtype=np.uint32)


def rows_of(mask: Array) -> Array | slice:
    """Return an index for the rows of a mask: a slice, which copies nothing, if it has all."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def drop_copies(duplicates: ColumnFile, chosen: Array) -> Array:
    """Return the mask `chosen` of turns without the later places of the same turn."""
    turn, group = duplicates.column("copy.turn"), duplicates.column("copy.group")
    rows = rows_of(chosen[turn])
    turn, group = turn[rows], group[rows]
    once = chosen.copy()
    once[turn[1:][group[1:] == group[:-1]]] = False
    return once


def tokens_by_turn(tally: MergedTally, duplicates: ColumnFile, chosen: Array) -> Array:
    """Sum the tokens of the chosen turns: a row per kind of `TOKENS` and one for API messages.

    Each API message counts once, with the largest count that any place reports.
    """
    totals = np.zeros((len(TOKENS) + 1, tally.turns))
    for turns, (turn, *counts) in tally.by_shard("usage", "turn", *TOKENS, "messages"):
        rows = rows_of(chosen[turn])
        at = turn[rows] - turns.start
        for i, column in enumerate(counts):
            totals[i, turns] = sum_by_code(at, column[rows], turns.stop - turns.start)
    rows = rows_of(chosen[duplicates.column("share.turn")])
    for i, surplus in surpluses(duplicates, rows):
        totals[i] -= sum_by_code(duplicates.column("share.turn")[rows], surplus, tally.turns)
    return totals


def tokens_by_rate(tally: MergedTally, duplicates: ColumnFile, chosen: Array) -> Array:
    """Sum the tokens like `tokens_by_turn`, with a column per rate."""
    rates = len(tally.words("rate"))
    totals = np.zeros((len(TOKENS) + 1, rates))
    for _, (turn, rate, *counts) in tally.by_shard("usage", "turn", "rate", *TOKENS, "messages"):
        rows = rows_of(chosen[turn])
        for i, column in enumerate(counts):
            totals[i] += sum_by_code(rate[rows], column[rows], rates)
    rows = rows_of(chosen[duplicates.column("share.turn")])
    for i, surplus in surpluses(duplicates, rows):
        totals[i] -= sum_by_code(duplicates.column("share.rate")[rows], surplus, rates)
    return totals


def surpluses(duplicates: ColumnFile, rows: Array | slice) -> Iterator[tuple[int, Array]]:
    """Yield, for each kind of token, what each of these rows of `share` counts too much."""
    group = duplicates.column("share.group")[rows]
    if not len(group):
        return
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    for i, name in enumerate(TOKENS):
        value = duplicates.column(f"share.{name}")[rows]
        surplus = value.astype(np.float64)
        surplus[first] -= np.maximum.reduceat(value, first)
        yield i, surplus
    repetitions = np.ones(len(group))
    repetitions[first] = 0
    yield len(TOKENS), repetitions


def sum_by_code(codes: Array, values: Array, size: int) -> Array:
    """Sum the values of each code as floats.

    They are exact below 2**53, and sums of sums need no conversion.
    """
    return np.bincount(codes, weights=values, minlength=size)


def values_at(totals: Iterable[Array], i: int) -> Iterator[int]:
    """Yield the i-th value of each column."""
    return (int(column[i]) for column in totals)
