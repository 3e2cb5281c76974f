"""Counts what the turns of one shard used, from objects and manifests to columns.

Summaries of turns that the previous tally of the shard has are copied from it, so only new turns
are read. The tables and their columns:

    session   id, project, source, kind, parent, client_cost (trillionths of a dollar, or NO_COST)
    turn      session, number, started (ms), branch, object (8 bytes of its id), messages, calls
    model     turn, name: the models that answered in a turn
    tool      turn, name, calls, errors
    bash      turn, use (an encoded `ShellUse`), count, errors
    usage     turn, rate (an encoded `Rate`), tokens, messages: sums
    key       turn, rate, key, tokens: one row per API message

Tokens are input, output, cache_read, cache_write and cache_write_1h, a part of the one before.

The columns `session` and `turn` hold row numbers of these tables. The columns in `WORD_KINDS` hold
indexes into a list of words.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from ccgrep.errors import StoreError
from ccgrep.fulltext.document_id import KINDS
from ccgrep.model import Entry, ObjectId, Session, Turn, Usage
from ccgrep.stats.column_file import Array, ColumnFile, encode
from ccgrep.stats.prices import CONTEXT_BOUNDS, TRILLION
from ccgrep.stats.project_commands import find_command
from ccgrep.stats.safety import judge
from ccgrep.stats.shell import parse, script_of
from ccgrep.store.manifest import Row, Shard
from ccgrep.store.store import Store

COMPOUND, PRIVILEGED = 1, 2

SCHEMA: dict[str, dict[str, str]] = {
    "session": {
        "id": "S", "project": "u4", "source": "u4", "kind": "u1", "parent": "S",
        "client_cost": "i8",
    },
    "turn": {
        "session": "u4", "number": "u4", "started": "i8", "branch": "u4", "object": "u8",
        "messages": "u4", "calls": "u4",
    },
    "model": {"turn": "u4", "name": "u4"},
    "tool": {"turn": "u4", "name": "u4", "calls": "u4", "errors": "u4"},
    "bash": {"turn": "u4", "use": "u4", "count": "u4", "errors": "u4"},
    "usage": {
        "turn": "u4", "rate": "u4", "input": "i8", "output": "i8", "cache_read": "i8",
        "cache_write": "i8", "cache_write_1h": "i8", "messages": "i8",
    },
    "key": {
        "turn": "u4", "rate": "u4", "key": "u8", "input": "u4", "output": "u4",
        "cache_read": "u4", "cache_write": "u4", "cache_write_1h": "u4",
    },
}  # fmt: skip
WORD_KINDS = {
    "session.project": "project",
    "session.source": "source",
    "turn.branch": "branch",
    "model.name": "model",
    "tool.name": "tool",
    "bash.use": "use",
    "usage.rate": "rate",
    "key.rate": "rate",
}
NO_COST = -1
_MAX_TOKENS = 2**32 - 1
_MAX_COST = 2**62

UseCounts = tuple[tuple[str, int, int], ...]
"""Rows of a name, the number of its uses, and how many of them failed."""


class TurnSummary(NamedTuple):
    """What a turn used. It is the same at every place of the turn."""

    models: tuple[str, ...] = ()
    tools: UseCounts = ()
    bash: UseCounts = ()


class ShellUse(NamedTuple):
    """A kind of shell command. `verdict` is "+" and a permission rule, or "-" and a reason.

    `command` is the exact command if a person may want to review it, see `project_commands.py`.
    """

    base: str
    sub: str
    flags: int
    verdict: str
    command: str = ""

    def encode(self) -> str:
        fields = (self.base, self.sub, str(self.flags), self.verdict, self.command)
        return "\0".join(field.replace("\0", "\ufffd") for field in fields)

    @classmethod
    def decode(cls, word: str) -> "ShellUse":
        base, sub, flags, verdict, command = word.split("\0")
        return cls(base, sub, int(flags), verdict, command)


class Rate(NamedTuple):
    """What the price of a message depends on: its model, and how much context it has.

    `context` is the number of bounds in `prices.CONTEXT_BOUNDS` that its input exceeds.
    """

    model: str
    context: int

    def encode(self) -> str:
        return f"{self.context} {self.model}"

    @classmethod
    def decode(cls, word: str) -> "Rate":
        context, _, model = word.partition(" ")
        return cls(model, int(context))


def summarize_turn(turn: Turn) -> TurnSummary:
    tools: dict[str, tuple[int, int]] = {}
    bash: dict[str, tuple[int, int]] = {}
    for call in turn.calls():
        has_failed = call.result is not None and call.result.is_error
        _count(tools, call.name, has_failed)
        script = script_of(call)
        if script is not None:
            _count(bash, classify_script(script).encode(), has_failed)
    return TurnSummary(
        models=tuple(sorted({message.model for message in turn.messages() if message.model})),
        tools=tuple((name, *counts) for name, counts in sorted(tools.items())),
        bash=tuple((use, *counts) for use, counts in sorted(bash.items())),
    )


def classify_script(text: str) -> ShellUse:
    script = parse(text)
    verdict = judge(script)
    flags = COMPOUND * script.is_compound + PRIVILEGED * script.is_privileged
    if verdict.rule:
        return ShellUse(script.base, script.sub, flags, f"+{verdict.rule}")
    return ShellUse(script.base, script.sub, flags, f"-{verdict.reason}", find_command(script))


def _count(counts: dict[str, tuple[int, int]], name: str, has_failed: bool) -> None:
    uses, errors = counts.get(name, (0, 0))
    counts[name] = uses + 1, errors + has_failed


class TallyBuilder:
    """Collects the rows of a tally and numbers the words in them."""

    def __init__(self) -> None:
        self._columns: dict[str, list[object]] = {
            f"{table}.{name}": [] for table, columns in SCHEMA.items() for name in columns
        }
        self._words: dict[str, dict[str, int]] = {kind: {} for kind in WORD_KINDS.values()}

    def add(self, table: str, *values: object) -> int:
        """Append a row and return its number."""
        for name, value in zip(SCHEMA[table], values, strict=True):
            column = f"{table}.{name}"
            kind = WORD_KINDS.get(column)
            if kind is None:
                self._columns[column].append(value)
            else:
                words = self._words[kind]
                self._columns[column].append(words.setdefault(str(value), len(words)))
        return len(self._columns[f"{table}.{next(iter(SCHEMA[table]))}"]) - 1

    def encode(self) -> bytes:
        arrays: dict[str, Array] = {}
        for table, columns in SCHEMA.items():
            for name, dtype in columns.items():
                values = self._columns[f"{table}.{name}"]
                stored_dtype = "S1" if dtype == "S" and not values else dtype
                arrays[f"{table}.{name}"] = np.array(values, dtype=stored_dtype)
        return encode(arrays, {kind: list(words) for kind, words in self._words.items()})


def tally_shard(store: Store, id: ObjectId, previous: ColumnFile | None = None) -> bytes:
    """Return the encoded tally of a shard. `previous` is the tally that it replaces."""
    known = read_summaries(previous) if previous is not None else {}
    builder = TallyBuilder()
    for row in store.load(id, Shard).rows:
        if row.session.turns and row.session.kind != "document":
            _add_session(store, row, known, builder)
    return builder.encode()


def _add_session(
    store: Store, row: Row, known: Mapping[int, TurnSummary], builder: TallyBuilder
) -> None:
    session = row.session
    kind = "superseded" if row.is_superseded else session.kind
    kind_code, parent = KINDS.index(kind), session.parent.encode()
    values = (session.project, session.source, kind_code, parent, _client_cost(session))
    session_row = builder.add("session", session.id.encode(), *values)
    for number, entry in enumerate(store.manifest(row).entries):
        object_key = int.from_bytes(entry.turn[:8], "little")
        summary = known.get(object_key) or _read_summary(store, entry.turn)
        if summary is None:
            continue  # fsck reports lost turns, and searches skip them too.
        started = entry.started or session.started or 0
        branch = entry.branch or session.branch
        calls = sum(calls for _, calls, _ in summary.tools)
        turn = builder.add(
            "turn", session_row, number, started, branch, object_key, entry.messages, calls
        )
        _add_summary(builder, turn, summary)
        _add_tokens(builder, turn, entry)


def _client_cost(session: Session) -> int:
    """Return what the client counted, in trillionths of a dollar."""
    if session.cost_usd is None:
        return NO_COST
    # The shortest decimal is what the client wrote.
    return min(int(Decimal(repr(session.cost_usd)) * TRILLION), _MAX_COST)


def _read_summary(store: Store, id: ObjectId) -> TurnSummary | None:
    try:
        return summarize_turn(store.load(id, Turn))
    except StoreError:
        return None


def _add_summary(builder: TallyBuilder, turn: int, summary: TurnSummary) -> None:
    for model in summary.models:
        builder.add("model", turn, model)
    for tool in summary.tools:
        builder.add("tool", turn, *tool)
    for use in summary.bash:
        builder.add("bash", turn, *use)


def _add_tokens(builder: TallyBuilder, turn: int, entry: Entry) -> None:
    totals: dict[str, list[int]] = {}
    for usage in entry.usage:
        tokens = _tokens(usage)
        input, _, cache_read, cache_write, _ = tokens
        context = bisect_left(CONTEXT_BOUNDS, input + cache_read + cache_write)
        rate = Rate(usage.model, context).encode()
        builder.add("key", turn, rate, int.from_bytes(usage.key, "little"), *tokens)
        total = totals.setdefault(rate, [0] * (len(tokens) + 1))
        for i, value in enumerate((*tokens, 1)):
            total[i] += value
    for rate, total in totals.items():
        builder.add("usage", turn, rate, *total)


def _tokens(usage: Usage) -> tuple[int, ...]:
    """Return the counts of a message: 0 if unknown, and limited to what a column can hold."""
    for_an_hour = min(usage.cache_write_1h or 0, usage.cache_write or 0)
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, for_an_hour)
    return tuple(min(count or 0, _MAX_TOKENS) for count in counts)


def read_summaries(tally: ColumnFile) -> dict[int, TurnSummary]:
    """Return the summaries in a tally, by the first 8 bytes of the turn's id."""
    objects = tally.column("turn.object").tolist()
    models = _rows_by_turn(tally, "model", len(objects))
    tools = _rows_by_turn(tally, "tool", len(objects))
    bash = _rows_by_turn(tally, "bash", len(objects))
    return {
        object_key: TurnSummary(
            models=tuple(str(row[0]) for row in models[turn]),
            tools=tuple(tools[turn]),  # type: ignore[arg-type]
            bash=tuple(bash[turn]),  # type: ignore[arg-type]
        )
        for turn, object_key in enumerate(objects)
    }


def _rows_by_turn(tally: ColumnFile, table: str, turns: int) -> list[list[tuple[object, ...]]]:
    """Return the rows of a table for each turn, without the column `turn`."""
    by_turn: list[list[tuple[object, ...]]] = [[] for _ in range(turns)]
    values = [_values(tally, table, name) for name in SCHEMA[table] if name != "turn"]
    for turn, *row in zip(tally.column(f"{table}.turn").tolist(), *values, strict=True):
        by_turn[turn].append(tuple(row))
    return by_turn


def _values(tally: ColumnFile, table: str, name: str) -> Iterable[object]:
    numbers: list[int] = tally.column(f"{table}.{name}").tolist()
    kind = WORD_KINDS.get(f"{table}.{name}")
    return numbers if kind is None else (tally.words[kind][number] for number in numbers)
