"""What is fuzzed: for each target a function that takes any bytes, and bytes to begin with.

A target raises nothing but what it finds wrong: the errors that a person is told are its own
business. `run.py` drives them by atheris, `tests/test_fuzz.py` by a few mutations of the seeds.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ccgrep.errors import CcgrepError
from ccgrep.fulltext.terms import fold
from ccgrep.model import ObjectId, Session, Turn
from ccgrep.search import query
from ccgrep.search.regex import Matcher, Plan
from ccgrep.sources.history import History, read_sessions_index
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.zst import ZstStream
from ccgrep.stats import safety, shell
from ccgrep.stats.columns import Columns
from ccgrep.stats.columns import encode as encode_columns
from ccgrep.store import pack
from ccgrep.store.manifest import Manifest, Row, Shard, Snapshot, SourceFile
from ccgrep.store.objects import Frame, decode, make_frame, object_id, unpack_frame
from ccgrep.store.objects import encode as encode_object
from tests.helpers.attacks import ATTACKS
from tests.helpers.readers import read, read_in_pieces, same
from tests.helpers.transcripts import ClaudeFile, CodexFile, Lines, encode


class Target(NamedTuple):
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]


# Transcripts.


def reads_claude(data: bytes) -> None:
    _reads("claude", data)


def reads_codex(data: bytes) -> None:
    _reads("codex", data)


def _reads(reader: str, data: bytes) -> None:
    """Whatever the file holds, reading on gives what reading anew gives."""
    fresh = read(reader, data)
    assert 0 <= fresh.resume <= fresh.end <= len(data)
    cut = int.from_bytes(hashlib.sha256(data).digest()[:4]) % (len(data) + 1)
    assert same(read_in_pieces(reader, data, [cut])) == same(fresh), f"read in two at {cut}"


def claude_files() -> Iterator[bytes]:
    file = ClaudeFile(Path("x"))
    file.turn("fix the parser", "done", "make test", "ok")
    file.meta("ai-title", aiTitle="Parser")
    file.prompt("again", isMeta=True)
    yield from _damaged(file)


def codex_files() -> Iterator[bytes]:
    file = CodexFile(Path("x"))
    file.meta()
    file.turn("fix the parser", "done", "make test", "ok")
    file.tokens(10, 2, 5)
    file.event("thread_rolled_back", num_turns=1)
    yield from _damaged(file)


def _damaged(file: Lines) -> Iterator[bytes]:
    lines = file.lines()
    yield b"".join(lines)
    yield lines[0][:60] + b"".join(lines[1:])
    yield lines[0].rstrip() + lines[1] + b"\0" * 20 + lines[2] + lines[-1][:-30]
    yield b"\xef\xbb\xbf" + lines[0].replace(b"fix", b"\xff\\ud83d")


def reads_history(data: bytes) -> None:
    history = History(io.BytesIO(data), Mark(0, 0))
    for prompt in history:
        assert prompt.session_id and prompt.text.strip()
    assert history.end.offset <= len(data)
    with _directory() as directory:
        path = os.path.join(directory, "sessions-index.json")
        _write(path, data)
        read_sessions_index(path)


def histories() -> Iterator[bytes]:
    pasted = {"1": {"content": "the whole text"}}
    typed = {"display": "fix [Pasted text #1]", "pastedContents": pasted, "sessionId": "abcd-1"}
    yield encode({**typed, "timestamp": 1_790_000_000_000, "project": "/p"})
    yield encode({"session_id": "abcd-1", "ts": 1_790_000_000, "text": "fix the parser"})
    entry = {"sessionId": "abcd-1", "summary": "Parser", "created": "2026-09-21T10:00:00Z"}
    yield encode({"version": 1, "entries": [entry]})


def unfolds(data: bytes) -> None:
    stream = ZstStream(io.BytesIO(data), len(data))
    total = 0
    while block := stream.read(1 << 20):
        total += len(block)
    assert total <= 66 * 1024 * 1024 + 200 * len(data)


def compressed_files() -> Iterator[bytes]:
    raw = encode_object(_turn())
    frame = make_frame("turn", _turn()).data
    yield frame
    yield frame + frame
    yield frame[: len(raw) // 4]


# The store.


def reads_pack(data: bytes) -> None:
    """A pack without its index gives the objects that are whole, and no others."""
    with _directory() as directory:
        _write(pack.pack_path(directory, _NAME), data)
        _opened(directory)


def reads_index(data: bytes) -> None:
    """An index that says anything, with a checksum that holds, leads to no other bytes."""
    with _directory() as directory:
        _write(pack.pack_path(directory, _NAME), _pack()[0])
        body = data[:-32]
        _write(pack.index_path(directory, _NAME), body + hashlib.sha256(body).digest())
        _opened(directory)


_NAME = "0" * 64


def _opened(directory: str) -> None:
    try:
        opened = pack.Pack(directory, _NAME)
    except CcgrepError:
        return
    try:
        known = [*opened.ids()][:50]
        for id in (*known, ObjectId(bytes(32)), ObjectId(b"\xff" * 32)):
            try:
                frame = opened.read(id)
                if frame is not None:
                    assert object_id(frame.kind, unpack_frame(frame)) == frame.id
            except CcgrepError:
                continue
        opened.is_intact()
        for _ in opened.scan():
            pass
    except CcgrepError:
        pass
    finally:
        opened.close()


def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


@cache
def _pack() -> tuple[bytes, bytes]:
    """A pack of three objects, and its index."""
    with _directory() as directory:
        writer = pack.PackWriter(directory, directory)
        for frame in (make_frame("turn", _turn()), make_frame("shard", _shard()), _snapshot()):
            writer.add(frame)
        name = writer.finish()
        paths = (pack.pack_path(directory, name), pack.index_path(directory, name))
        made, index = (Path(path).read_bytes() for path in paths)
    return made, index


def packs() -> Iterator[bytes]:
    made = _pack()[0]
    yield made
    yield made[: len(made) // 2]
    yield made[:8] + made[60:]


def indexes() -> Iterator[bytes]:
    yield _pack()[1]


def decodes_objects(data: bytes) -> None:
    """Bytes are one of the structures or refused, and what was decoded has one encoding."""
    for kind in (Snapshot, Shard, Manifest, Turn):
        try:
            value = decode(data, kind)
        except CcgrepError:
            continue
        again = encode_object(value)
        assert encode_object(decode(again, kind)) == again


def objects() -> Iterator[bytes]:
    manifest = Manifest(_session(), (), (), b"state", 3)
    yield from (encode_object(value) for value in (_turn(), _shard(), manifest))
    yield unpack_frame(_snapshot())


def _turn() -> Turn:
    return Turn(prompt="fix the parser " * 20)


def _session() -> Session:
    return Session(id="some-session", source="claude_code")


def _shard() -> Shard:
    file = SourceFile("/p/x.jsonl", "/p", 10, 2, 3, 4, 5, 6, 7, 8)
    return Shard((Row(_session(), ObjectId(b"\1" * 32), (file,)),))


def _snapshot() -> Frame:
    shards = {"a0": ObjectId(b"\2" * 32), "ff": ObjectId(b"\3" * 32)}
    return make_frame("snapshot", Snapshot(shards, (), (b"\4" * 16,), 1, 2, 3))


def reads_columns(data: bytes) -> None:
    try:
        columns = Columns("fuzz", data)
        for name in ("a", "b", "missing"):
            columns.column(name).sum()
    except CcgrepError:
        pass


def tallies() -> Iterator[bytes]:
    import numpy as np  # noqa: PLC0415 - one target's

    yield encode_columns({"a": np.arange(9), "b": np.zeros(3, "u1")}, {"words": ["make", "git"]})


# What is typed, and what was run.


def parses_query(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        units = query.parse(text, _words, _words)
    except CcgrepError:
        return
    assert len(units) <= 201
    for unit in query.content_units(units) if units else ():
        assert unit.stems or unit.grams or unit.tokens
    fold(text)


def _words(text: str) -> list[str]:
    """Words as the text index would give them, near enough and without one."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()


def queries() -> Iterator[bytes]:
    yield from (
        b'parser "a phrase" src/auth.ts',
        b"getUserName caf\xc3\xa9",
        "日本語の検索".encode(),
    )
    yield from (text.encode("utf-8", "replace") for text in ATTACKS.values())


def plans_pattern(data: bytes) -> None:
    """A pattern, and text behind the first line: what matches has what the plan asks for."""
    first, _, text = data.partition(b"\n")
    pattern = first[1:].decode("utf-8", "replace")
    flags = first[0] if first else 0
    try:
        matcher = Matcher([pattern], bool(flags & 1), bool(flags & 2), bool(flags & 4))
    except CcgrepError:
        return
    count = matcher.count(text)
    assert bool(count) >= bool([*_some(matcher.spans(text), 1)])
    if count and not flags & 2:
        assert _holds(matcher.plan, text.decode("utf-8", "replace")), pattern


def _some(spans: Iterator[tuple[int, int]], number: int) -> Iterator[tuple[int, int]]:
    for _, span in zip(range(number), spans, strict=False):
        yield span


def _holds(plan: Plan | str | None, text: str) -> bool:
    if isinstance(plan, Plan):
        test = all if plan.kind == "all" else any
        return test(_holds(part, text) for part in plan.parts)
    return plan is None or plan in text


def patterns() -> Iterator[bytes]:
    yield b"\0(a+)+$\naaaaaaaaaaaaab"
    yield b"\0fo(o|ba?r){2,3}[a-z]*\\.\\Qx.y\\E\nfoobarbarz.x.y"
    yield b"\1a.b\nxa.by"
    yield b"\4caf\xc3\xa9|\\bx\\b\nun caf\xc3\xa9"
    yield b"\2Stra(ss|\xc3\x9f)e\nSTRASSE"


def parses_shell(data: bytes) -> None:
    script = shell.parse(data.decode("utf-8", "replace"))
    assert len(script.base) <= 64
    verdict = safety.judge(script)
    covered = [part for part in script.parts if safety.covers(verdict.rule, part.text)]
    assert not verdict.rule or (script.is_plain and covered)


def scripts() -> Iterator[bytes]:
    yield b"cd /x && FOO=1 sudo -u root git -C y status | head -5 > /dev/null 2>&1"
    yield b"cat <<'EOF'\n$(rm -rf /)\nEOF\nfor f in *; do echo \"$f\"; done"
    yield b"[[ -f a ]] || timeout 5 bash -lc 'make -j$(nproc)'; ((x+=1))"


TARGETS: dict[str, Target] = {
    "claude": Target(reads_claude, claude_files),
    "codex": Target(reads_codex, codex_files),
    "history": Target(reads_history, histories),
    "zst": Target(unfolds, compressed_files),
    "pack": Target(reads_pack, packs),
    "index": Target(reads_index, indexes),
    "objects": Target(decodes_objects, objects),
    "columns": Target(reads_columns, tallies),
    "query": Target(parses_query, queries),
    "regex": Target(plans_pattern, patterns),
    "shell": Target(parses_shell, scripts),
}
