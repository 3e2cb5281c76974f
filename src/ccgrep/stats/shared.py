"""Which turns and messages stand at several places? Forks, copies and resumed sessions repeat them.

A turn is counted once among the places that pass the filters, and so are the tokens of an API
message, at the earliest of them: where they were spent. To find what is shared takes a sort of
all keys, so it is kept in a file of its own, and asked for whatever the filters are:

    copy      turn, group: places of one turn, the earliest first
    share     turn, group, model, input, output, cache_read, cache_write: of one message, likewise
"""

from typing import NamedTuple

import numpy as np

from ccgrep.stats.columns import Array, Columns, encode
from ccgrep.stats.tables import Tables

_FILTER = 2**24
TOKENS = ("input", "output", "cache_read", "cache_write")


class Spent(NamedTuple):
    """Rows of tokens that can be added up: `turn` and `model` say whose. What is counted twice
    among them has a further row, below zero."""

    turn: Array
    model: Array
    tokens: tuple[Array, ...]  # in the order of TOKENS, then API messages


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


def spent(tables: Tables, shared: Columns, chosen: Array) -> Spent:
    """The tokens of the chosen turns; each API message once, the largest report of it."""
    rows = rows_of(chosen[tables["usage.turn"]])
    turn, model = tables["usage.turn"][rows], tables["usage.model"][rows]
    tokens = [tables[f"usage.{name}"][rows] for name in (*TOKENS, "messages")]
    rows = rows_of(chosen[shared.column("share.turn")])
    group = shared.column("share.group")[rows]
    if not len(group):
        return Spent(turn, model, tuple(tokens))
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    values = [shared.column(f"share.{name}")[rows] for name in TOKENS]
    values.append(np.ones(len(group), dtype=np.int64))
    for i, value in enumerate(values):
        surplus = -value.astype(np.int64)
        surplus[first] += np.maximum.reduceat(value, first)
        tokens[i] = np.concatenate((tokens[i], surplus))
    return Spent(
        np.concatenate((turn, shared.column("share.turn")[rows])),
        np.concatenate((model, shared.column("share.model")[rows])),
        tuple(tokens),
    )
