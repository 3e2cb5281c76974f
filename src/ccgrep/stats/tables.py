"""The tallies of all shards as one set of tables: rows numbered through, words spelled once."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from ccgrep.errors import TallyError
from ccgrep.stats.columns import Array, Columns
from ccgrep.stats.tally import NAMED, TABLES


class Tables:
    """Columns by `table.name`, joined when they are first asked for."""

    def __init__(self, parts: Sequence[Columns]) -> None:
        self._parts = parts
        self._joined: dict[str, Array] = {}
        self._spelled: dict[str, tuple[list[str], list[Array]]] = {}

    @cached_property
    def turns(self) -> int:
        return self._firsts["turn"][-1]

    @cached_property
    def _firsts(self) -> dict[str, list[int]]:
        """For each table that others refer to, the number of each part's first row."""
        known = {"session": "session.kind", "turn": "turn.session"}
        sizes = {t: [len(p.column(column)) for p in self._parts] for t, column in known.items()}
        return {table: np.cumsum([0, *counts]).tolist() for table, counts in sizes.items()}

    def __getitem__(self, name: str) -> Array:
        if name not in self._joined:
            self._joined[name] = self._join(name)
        return self._joined[name]

    def _join(self, name: str) -> Array:
        table, _, column = name.partition(".")
        dtype = TABLES[table][column]
        parts = [part.column(name) for part in self._parts]
        if dtype == "S":
            return np.concatenate(parts) if parts else np.zeros(0, dtype="S1")
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        joined: Array = np.empty(ends[-1], dtype=dtype)
        for i, part in enumerate(parts):
            self._number(name, i, part, joined[ends[i] : ends[i + 1]])
        return joined

    def pieces(self, table: str, *names: str) -> Iterator[tuple[slice, list[Array]]]:
        """Columns of a table part by part, with the range of turns that a part has: what is only
        added up need not be joined, which would take memory for all of it."""
        ends = self._firsts["turn"]
        for i, part in enumerate(self._parts):
            columns = []
            for name in names:
                values = part.column(f"{table}.{name}")
                columns.append(np.empty(len(values), dtype=TABLES[table][name]))
                self._number(f"{table}.{name}", i, values, columns[-1])
            yield slice(ends[i], ends[i + 1]), columns

    def taken(self, name: str, rows: Array) -> Array:
        """A column at some rows, which ascend: where these are few, all need not be joined."""
        table, _, column = name.partition(".")
        taken: Array = np.empty(len(rows), dtype=TABLES[table][column])
        first = start = 0
        for i, part in enumerate(self._parts):
            values = part.column(name)
            end = start + int(np.searchsorted(rows[start:], first + len(values)))
            self._number(name, i, values[rows[start:end] - first], taken[start:end])
            first, start = first + len(values), end
        return taken

    def _number(self, name: str, i: int, values: Array, out: Array) -> None:
        """Values of part `i` with the numbers that rows and words have in all parts."""
        column = name.partition(".")[2]
        if name in NAMED:
            np.take(self._words_of(NAMED[name])[1][i], values, out=out, mode="clip")
        elif column in self._firsts:
            np.add(values, self._firsts[column][i], out=out, casting="unsafe")
        else:
            out[:] = values

    def words(self, kind: str) -> list[str]:
        """The words of a kind, by their numbers."""
        return self._words_of(kind)[0]

    def _words_of(self, kind: str) -> tuple[list[str], list[Array]]:
        """The words of all parts, and for each part from its numbers to theirs."""
        if kind not in self._spelled:
            known: dict[str, int] = {}
            codes: list[Array] = []
            for part in self._parts:
                words = part.words.get(kind)
                if words is None:
                    raise TallyError(part.name)
                numbers = [known.setdefault(word, len(known)) for word in words]
                codes.append(np.array(numbers, dtype=np.uint32))
            self._spelled[kind] = (list(known), codes)
        return self._spelled[kind]
