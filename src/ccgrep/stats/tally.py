"""What did the turns of a shard use? From objects and manifests to columns.

A turn's content is looked at once: what is known of it is taken over from the tally that this
one replaces. The tables, and the columns that make them:

    session   id, project, source, kind
    turn      session, number, started (ms), branch, object (8 bytes of its id), messages, calls
    model     turn, name: the models that answered in a turn
    tool      turn, name, calls, errors
    bash      turn, use (base, sub, flags and verdict as one word), count, errors
    usage     turn, model, input, output, cache_read, cache_write, messages: sums
    key       turn, model, key, input, output, cache_read, cache_write: of each API message

A column that ends in the name of a table holds row numbers of it; `NAMED` has those that hold
numbers of words.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ccgrep.errors import StoreError
from ccgrep.fulltext.document_id import KINDS
from ccgrep.model import Entry, ObjectId, Turn, Usage
from ccgrep.stats.columns import Array, Columns, encode
from ccgrep.stats.safety import judge
from ccgrep.stats.shell import parse, script_of
from ccgrep.store.manifest import Row, Shard
from ccgrep.store.store import Store

SOURCES = ("claude_code", "codex")
COMPOUND, PRIVILEGED = 1, 2

TABLES: dict[str, dict[str, str]] = {
    "session": {"id": "S", "project": "u4", "source": "u1", "kind": "u1"},
    "turn": {
        "session": "u4", "number": "u4", "started": "i8", "branch": "u4", "object": "u8",
        "messages": "u4", "calls": "u4",
    },
    "model": {"turn": "u4", "name": "u4"},
    "tool": {"turn": "u4", "name": "u4", "calls": "u4", "errors": "u4"},
    "bash": {"turn": "u4", "use": "u4", "count": "u4", "errors": "u4"},
    "usage": {
        "turn": "u4", "model": "u4", "input": "i8", "output": "i8", "cache_read": "i8",
        "cache_write": "i8", "messages": "i8",
    },
    "key": {
        "turn": "u4", "model": "u4", "key": "u8", "input": "u4", "output": "u4",
        "cache_read": "u4", "cache_write": "u4",
    },
}  # fmt: skip
NAMED = {
    "session.project": "project",
    "turn.branch": "branch",
    "model.name": "model",
    "tool.name": "tool",
    "bash.use": "use",
    "usage.model": "model",
    "key.model": "model",
}
_MOST = 2**32 - 1

Uses = tuple[tuple[str, int, int], ...]
"""A word, how often, and how often it failed."""


class Content(NamedTuple):
    """What a turn used, wherever it stands."""

    models: tuple[str, ...] = ()
    tools: Uses = ()
    bash: Uses = ()


class Use(NamedTuple):
    """How a shell was used. `verdict` is a rule with `+` before it, or a reason with `-`."""

    base: str
    sub: str
    flags: int
    verdict: str

    def word(self) -> str:
        fields = (self.base, self.sub, str(self.flags), self.verdict)
        return "\0".join(field.replace("\0", "\ufffd") for field in fields)

    @classmethod
    def of_word(cls, word: str) -> "Use":
        base, sub, flags, verdict = word.split("\0")
        return cls(base, sub, int(flags), verdict)


def content_of(turn: Turn) -> Content:
    tools: dict[str, tuple[int, int]] = {}
    bash: dict[str, tuple[int, int]] = {}
    for call in turn.calls():
        failed = call.result is not None and call.result.is_error
        _count(tools, call.name, failed)
        script = script_of(call)
        if script is not None:
            _count(bash, use_of(script).word(), failed)
    return Content(
        models=tuple(sorted({message.model for message in turn.messages() if message.model})),
        tools=tuple((name, *counts) for name, counts in sorted(tools.items())),
        bash=tuple((word, *counts) for word, counts in sorted(bash.items())),
    )


def use_of(script: str) -> Use:
    parsed = parse(script)
    verdict = judge(parsed)
    flags = COMPOUND * parsed.is_compound + PRIVILEGED * parsed.is_privileged
    said = f"+{verdict.rule}" if verdict.rule else f"-{verdict.reason}"
    return Use(parsed.base, parsed.sub, flags, said)


def _count(counts: dict[str, tuple[int, int]], word: str, failed: bool) -> None:
    uses, errors = counts.get(word, (0, 0))
    counts[word] = uses + 1, errors + failed


class Rows:
    """Tables that grow by a row at a time, and the words in them."""

    def __init__(self) -> None:
        self._columns: dict[str, list[object]] = {
            f"{table}.{name}": [] for table, columns in TABLES.items() for name in columns
        }
        self._words: dict[str, dict[str, int]] = {kind: {} for kind in set(NAMED.values())}

    def add(self, table: str, *values: object) -> int:
        """Adds a row; gives its number."""
        for name, value in zip(TABLES[table], values, strict=True):
            column = f"{table}.{name}"
            kind = NAMED.get(column)
            if kind is None:
                self._columns[column].append(value)
            else:
                words = self._words[kind]
                self._columns[column].append(words.setdefault(str(value), len(words)))
        return len(self._columns[f"{table}.{next(iter(TABLES[table]))}"]) - 1

    def encode(self) -> bytes:
        arrays: dict[str, Array] = {}
        for table, columns in TABLES.items():
            for name, dtype in columns.items():
                values = self._columns[f"{table}.{name}"]
                wanted = "S1" if dtype == "S" and not values else dtype
                arrays[f"{table}.{name}"] = np.array(values, dtype=wanted)
        return encode(arrays, {kind: list(words) for kind, words in self._words.items()})


def tally_shard(store: Store, id: ObjectId, before: Columns | None = None) -> bytes:
    """The tally of a shard; `before` is the one that it replaces."""
    known = recalled(before) if before is not None else {}
    rows = Rows()
    for row in store.load(id, Shard).rows:
        if row.session.turns:
            _add_session(store, row, known, rows)
    return rows.encode()


def _add_session(store: Store, row: Row, known: Mapping[int, Content], rows: Rows) -> None:
    session = row.session
    kind = "superseded" if row.is_superseded else session.kind
    numbers = SOURCES.index(session.source), KINDS.index(kind)
    at = rows.add("session", session.id.encode(), session.project, *numbers)
    for number, entry in enumerate(store.manifest(row).entries):
        object = int.from_bytes(entry.turn[:8], "little")
        content = known.get(object) or _read(store, entry.turn)
        if content is None:
            continue  # fsck names a lost turn; searches do not find it either.
        started = entry.started or session.started or 0
        branch = entry.branch or session.branch
        calls = sum(calls for _, calls, _ in content.tools)
        turn = rows.add("turn", at, number, started, branch, object, entry.messages, calls)
        _add_content(rows, turn, content)
        _add_usage(rows, turn, entry)


def _read(store: Store, id: ObjectId) -> Content | None:
    try:
        return content_of(store.load(id, Turn))
    except StoreError:
        return None


def _add_content(rows: Rows, turn: int, content: Content) -> None:
    for model in content.models:
        rows.add("model", turn, model)
    for name, calls, errors in content.tools:
        rows.add("tool", turn, name, calls, errors)
    for word, count, errors in content.bash:
        rows.add("bash", turn, word, count, errors)


def _add_usage(rows: Rows, turn: int, entry: Entry) -> None:
    sums: dict[str, list[int]] = {}
    for usage in entry.usage:
        tokens = _tokens(usage)
        rows.add("key", turn, usage.model, int.from_bytes(usage.key, "little"), *tokens)
        total = sums.setdefault(usage.model, [0] * (len(tokens) + 1))
        for i, value in enumerate((*tokens, 1)):
            total[i] += value
    for model, total in sums.items():
        rows.add("usage", turn, model, *total)


def _tokens(usage: Usage) -> tuple[int, ...]:
    """What is unknown adds nothing; no message has four thousand million tokens."""
    given = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return tuple(min(value or 0, _MOST) for value in given)


def recalled(before: Columns) -> dict[int, Content]:
    """What an earlier tally says of turns, by the beginning of their ids."""
    objects = before.column("turn.object").tolist()
    models = _by_turn(before, "model", len(objects))
    tools = _by_turn(before, "tool", len(objects))
    bash = _by_turn(before, "bash", len(objects))
    return {
        object: Content(
            models=tuple(str(row[0]) for row in models[turn]),
            tools=tuple(tools[turn]),  # type: ignore[arg-type]
            bash=tuple(bash[turn]),  # type: ignore[arg-type]
        )
        for turn, object in enumerate(objects)
    }


def _by_turn(before: Columns, table: str, turns: int) -> list[list[tuple[object, ...]]]:
    """The rows of a table, without the turn, for each turn."""
    found: list[list[tuple[object, ...]]] = [[] for _ in range(turns)]
    values = [_values(before, table, name) for name in TABLES[table] if name != "turn"]
    for turn, *row in zip(before.column(f"{table}.turn").tolist(), *values, strict=True):
        found[turn].append(tuple(row))
    return found


def _values(before: Columns, table: str, name: str) -> Iterable[object]:
    codes: list[int] = before.column(f"{table}.{name}").tolist()
    kind = NAMED.get(f"{table}.{name}")
    return codes if kind is None else _spelled(codes, before.words[kind])


def _spelled(codes: Iterable[int], words: list[str]) -> Iterator[str]:
    return (words[code] for code in codes)
