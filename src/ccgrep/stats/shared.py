"""Which turns and messages stand at several places? Forks, copies and resumed sessions repeat them.

A turn is counted once among the places that pass the filters, and so are the tokens of an API
message, at the earliest of them: where they were spent. To find what is shared takes a sort of
all keys, so it is kept in a file of its own, and asked for whatever the filters are:

    copy      turn, group: places of one turn, the earliest first
    share     turn, group, model, input, output, cache_read, cache_write: of one message, likewise
"""

from collections.abc import Iterator

import numpy as np

from ccgrep.stats.columns import Array, Columns, encode
from ccgrep.stats.tables import Tables

_FILTER = 2**24
TOKENS = ("input", "output", "cache_read", "cache_write")


def find_shared(tables: Tables) -> bytes:
    """What stands at several places, as a file."""
    copies = _repeated(tables["turn.object"])
    copies = copies[_earliest_first(tables, copies, tables["turn.object"][copies])]
    rows = _repeated(tables["key.key"])
    turns, keys = tables.taken("key.turn", rows), tables["key.key"][rows]
    order = _earliest_first(tables, turns, keys)
    columns: dict[str, Array] = {
        "copy.turn": copies.astype(np.uint32),
        "copy.group": _groups(tables["turn.object"][copies]),
        "share.turn": turns[order],
        "share.group": _groups(keys[order]),
        "share.model": tables.taken("key.model", rows)[order],
    }
    columns |= {f"share.{name}": tables.taken(f"key.{name}", rows)[order] for name in TOKENS}
    return encode(columns, {})


def _repeated(values: Array) -> Array:
    """The rows whose value another row has too. Values are hashes: a few of their bits leave few
    rows to look up, which takes a tenth of the time of `isin`."""
    ordered = np.sort(values)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return np.zeros(0, dtype=np.int64)
    bits = np.uint64(_FILTER - 1)
    may_be = np.zeros(_FILTER, dtype=bool)
    may_be[again & bits] = True
    rows = np.flatnonzero(may_be[values & bits])
    at = np.minimum(np.searchsorted(again, values[rows]), len(again) - 1)
    found: Array = rows[again[at] == values[rows]]
    return found


def _earliest_first(tables: Tables, turns: Array, values: Array) -> Array:
    """An order by value, then by time as far as that is known, then by place."""
    started = tables["turn.started"][turns]
    return np.lexsort((turns, started, started == 0, values))


def _groups(values: Array) -> Array:
    """Numbers from 0 on, equal where the values are, which are in order."""
    if not len(values):
        return np.zeros(0, dtype=np.uint32)
    return np.cumsum(np.concatenate(([False], values[1:] != values[:-1])), dtype=np.uint32)


def rows_of(mask: Array) -> Array | slice:
    """The rows of a mask; all of them need no numbers."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def counted_once(shared: Columns, chosen: Array) -> Array:
    """`chosen` (a mask of turns) without the later places of turns that stand at several."""
    turn, group = shared.column("copy.turn"), shared.column("copy.group")
    rows = rows_of(chosen[turn])
    turn, group = turn[rows], group[rows]
    once = chosen.copy()
    once[turn[1:][group[1:] == group[:-1]]] = False
    return once


def spent_by_turn(tables: Tables, shared: Columns, chosen: Array) -> Array:
    """The tokens of the chosen turns, a row for each of TOKENS, one for API messages, a column for
    each turn; each API message once, the largest report of it."""
    spent = np.zeros((len(TOKENS) + 1, tables.turns))
    for turns, (turn, *tokens) in tables.pieces("usage", "turn", *TOKENS, "messages"):
        rows = rows_of(chosen[turn])
        at = turn[rows] - turns.start
        for i, column in enumerate(tokens):
            spent[i, turns] = sums(at, column[rows], turns.stop - turns.start)
    rows = rows_of(chosen[shared.column("share.turn")])
    for i, surplus in _surpluses(shared, rows):
        spent[i] -= sums(shared.column("share.turn")[rows], surplus, tables.turns)
    return spent


def spent_by_model(tables: Tables, shared: Columns, chosen: Array) -> Array:
    """The same with a column for each model."""
    models = len(tables.words("model"))
    spent = np.zeros((len(TOKENS) + 1, models))
    for _, (turn, model, *tokens) in tables.pieces("usage", "turn", "model", *TOKENS, "messages"):
        rows = rows_of(chosen[turn])
        for i, column in enumerate(tokens):
            spent[i] += sums(model[rows], column[rows], models)
    rows = rows_of(chosen[shared.column("share.turn")])
    for i, surplus in _surpluses(shared, rows):
        spent[i] -= sums(shared.column("share.model")[rows], surplus, models)
    return spent


def _surpluses(shared: Columns, rows: Array | slice) -> Iterator[tuple[int, Array]]:
    """For each kind of token what is counted too much, for each of some shares."""
    group = shared.column("share.group")[rows]
    if not len(group):
        return
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    for i, name in enumerate(TOKENS):
        value = shared.column(f"share.{name}")[rows]
        surplus = value.astype(np.float64)
        surplus[first] -= np.maximum.reduceat(value, first)
        yield i, surplus
    again = np.ones(len(group))
    again[first] = 0
    yield len(TOKENS), again


def sums(codes: Array, values: Array, size: int) -> Array:
    """For each code the sum of its values, as floats: exact below 2 to the power of 53, and what is
    added up again need not be converted each time."""
    return np.bincount(codes, weights=values, minlength=size)
