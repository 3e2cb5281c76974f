"""The tallies of all shards as one set of tables, with rows and words numbered across shards."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from ccgrep.errors import TallyError
from ccgrep.stats.column_file import Array, ColumnFile
from ccgrep.stats.shard_tally import SCHEMA, WORD_KINDS


class MergedTally:
    """Columns by `table.name`, concatenated on first use."""

    def __init__(self, shards: Sequence[ColumnFile]) -> None:
        self._shards = shards
        self._columns: dict[str, Array] = {}
        self._words: dict[str, tuple[list[str], list[Array]]] = {}

    @cached_property
    def turns(self) -> int:
        return self._first_rows["turn"][-1]

    @cached_property
    def sessions(self) -> int:
        return self._first_rows["session"][-1]

    @cached_property
    def _first_rows(self) -> dict[str, list[int]]:
        """The number of each shard's first row, for the tables that others refer to."""
        columns = {"session": "session.kind", "turn": "turn.session"}
        sizes = {t: [len(s.column(column)) for s in self._shards] for t, column in columns.items()}
        return {table: np.cumsum([0, *counts]).tolist() for table, counts in sizes.items()}

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            self._columns[name] = self._concatenate(name)
        return self._columns[name]

    def _concatenate(self, name: str) -> Array:
        table, _, column = name.partition(".")
        dtype = SCHEMA[table][column]
        parts = [shard.column(name) for shard in self._shards]
        if dtype == "S":
            return np.concatenate(parts) if parts else np.zeros(0, dtype="S1")
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        whole: Array = np.empty(ends[-1], dtype=dtype)
        for i, part in enumerate(parts):
            self._renumber(name, i, part, whole[ends[i] : ends[i + 1]])
        return whole

    def by_shard(self, table: str, *names: str) -> Iterator[tuple[slice, list[Array]]]:
        """Yield the range of turns and some columns of each shard.

        Sums need no concatenated columns, which would take memory for the whole table.
        """
        ends = self._first_rows["turn"]
        for i, shard in enumerate(self._shards):
            columns = []
            for name in names:
                values = shard.column(f"{table}.{name}")
                columns.append(np.empty(len(values), dtype=SCHEMA[table][name]))
                self._renumber(f"{table}.{name}", i, values, columns[-1])
            yield slice(ends[i], ends[i + 1]), columns

    def take(self, name: str, rows: Array) -> Array:
        """Return a column at ascending `rows`, without concatenating the column."""
        table, _, column = name.partition(".")
        values: Array = np.empty(len(rows), dtype=SCHEMA[table][column])
        first = start = 0
        for i, shard in enumerate(self._shards):
            part = shard.column(name)
            end = start + int(np.searchsorted(rows[start:], first + len(part)))
            self._renumber(name, i, part[rows[start:end] - first], values[start:end])
            first, start = first + len(part), end
        return values

    def _renumber(self, name: str, i: int, values: Array, out: Array) -> None:
        """Write values of shard `i` to `out`, with row and word numbers of the merged tables."""
        column = name.partition(".")[2]
        if name in WORD_KINDS:
            np.take(self._merge_words(WORD_KINDS[name])[1][i], values, out=out, mode="clip")
        elif column in self._first_rows:
            np.add(values, self._first_rows[column][i], out=out, casting="unsafe")
        else:
            out[:] = values

    def words(self, kind: str) -> list[str]:
        """Return the words of a kind, by number."""
        return self._merge_words(kind)[0]

    def _merge_words(self, kind: str) -> tuple[list[str], list[Array]]:
        """Return the words of all shards, and an array per shard that maps its numbers to them."""
        if kind not in self._words:
            known: dict[str, int] = {}
            numbers: list[Array] = []
            for shard in self._shards:
                words = shard.words.get(kind)
                if words is None:
                    raise TallyError(shard.name)
                merged = [known.setdefault(word, len(known)) for word in words]
                numbers.append(np.array(merged, dtype=np.uint32))
            self._words[kind] = (list(known), numbers)
        return self._words[kind]
