"""Which turns and messages stand at several places? Forks, copies and resumed sessions repeat them.

A turn is counted once among the places that pass the filters, and so are the tokens of an API
message, at the earliest of them: where they were spent. To find what is shared takes a sort of
all keys, so it is kept in a file of its own, and asked for whatever the filters are:

    copy      turn, group: places of one turn
    share     turn, group, model, input, output, cache_read, cache_write: places of one message
"""

from typing import NamedTuple

import numpy as np

from ccgrep.stats.columns import Array, Columns, encode
from ccgrep.stats.tables import Tables

TOKENS = ("input", "output", "cache_read", "cache_write")


class Spent(NamedTuple):
    """Rows of tokens that can be added up: `turn` and `model` say whose; what is counted twice
    among them stands there once more, below zero."""

    turn: Array
    model: Array
    tokens: tuple[Array, ...]  # in the order of TOKENS, then API messages


def find_shared(tables: Tables) -> bytes:
    """What stands at several places, as a file."""
    turns = _repeated(tables["turn.object"])
    keys = _repeated(tables["key.key"])
    columns: dict[str, Array] = {
        "copy.turn": turns.astype(np.uint32),
        "copy.group": _groups(tables["turn.object"][turns]),
        "share.turn": tables["key.turn"][keys],
        "share.group": _groups(tables["key.key"][keys]),
        "share.model": tables["key.model"][keys],
    }
    columns |= {f"share.{name}": tables[f"key.{name}"][keys] for name in TOKENS}
    return encode(columns, {})


def _repeated(values: Array) -> Array:
    """The rows whose value another row has too."""
    ordered = np.sort(values)
    again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.flatnonzero(np.isin(values, again)) if len(again) else np.zeros(0, dtype=np.int64)


def _groups(values: Array) -> Array:
    """Numbers from 0 on, equal where the values are."""
    groups: Array = np.unique(values, return_inverse=True)[1]
    return groups.astype(np.uint32)


def counted_once(tables: Tables, shared: Columns, chosen: Array) -> Array:
    """`chosen` (a mask of turns) without the later places of turns that stand at several."""
    turn, group = shared.column("copy.turn"), shared.column("copy.group")
    is_in = chosen[turn]
    turn, group = turn[is_in], group[is_in]
    order = _earliest_first(tables, turn, group)
    later = order[1:][group[order][1:] == group[order][:-1]]
    once = chosen.copy()
    once[turn[later]] = False
    return once


def _earliest_first(tables: Tables, turn: Array, group: Array) -> Array:
    """An order by group, in it by time as far as that is known, in it by place."""
    started = tables["turn.started"][turn]
    return np.lexsort((turn, started, started == 0, group))


def spent(tables: Tables, shared: Columns, chosen: Array) -> Spent:
    """The tokens of the chosen turns; each API message once, the largest report of it."""
    rows = np.flatnonzero(chosen[tables["usage.turn"]])
    parts = [
        (
            tables["usage.turn"][rows],
            tables["usage.model"][rows],
            [tables[f"usage.{name}"][rows].astype(np.int64) for name in (*TOKENS, "messages")],
        )
    ]
    is_in = chosen[shared.column("share.turn")]
    turn, group = shared.column("share.turn")[is_in], shared.column("share.group")[is_in]
    if len(turn):
        order = _earliest_first(tables, turn, group)
        turn, group = turn[order], group[order]
        model = shared.column("share.model")[is_in][order]
        values = [shared.column(f"share.{n}")[is_in][order].astype(np.int64) for n in TOKENS]
        values.append(np.ones(len(turn), dtype=np.int64))
        first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        parts.append((turn, model, [-value for value in values]))
        most = [np.maximum.reduceat(value, first) for value in values]
        parts.append((turn[first], model[first], most))
    turns, models, tokens = zip(*parts, strict=True)
    joined = tuple(np.concatenate(columns) for columns in zip(*tokens, strict=True))
    return Spent(np.concatenate(turns), np.concatenate(models), joined)
