"""The fuzz targets: for each, a check that accepts any bytes, and seed inputs.

A check raises only for a bug, never for an error that ccgrep would report to the user. `run.py`
runs the checks with atheris, `tests/test_fuzz.py` with a few mutations of the seeds.
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
from ccgrep.kinds import SessionKind
from ccgrep.model import ObjectId, Session, Turn
from ccgrep.search import query
from ccgrep.search.regex import Matcher, Plan
from ccgrep.sources.history import read_history, read_sessions_index
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.zst import ZstStream
from ccgrep.stats import safety, shell
from ccgrep.stats.column_file import ColumnFile
from ccgrep.stats.column_file import encode as encode_columns
from ccgrep.store import pack
from ccgrep.store.manifest import Manifest, Row, Shard, Snapshot, SourceFile
from ccgrep.store.objects import Frame, decode, make_frame, object_id, unpack_frame
from ccgrep.store.objects import encode as encode_object
from tests.helpers.attacks import ATTACKS
from tests.helpers.readers import read, read_in_pieces, without_progress
from tests.helpers.transcripts import ClaudeFile, CodexFile, Lines, encode

_SESSION_KINDS: tuple[SessionKind, ...] = ("main", "subagent", "worker")


class Target(NamedTuple):
    """A check and its seeds."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]


# Transcripts.


def check_claude_reader(data: bytes) -> None:
    _check_reader("claude", data)


def check_codex_reader(data: bytes) -> None:
    _check_reader("codex", data)


def _check_reader(reader: str, data: bytes) -> None:
    """Check that a resumed reading of any file equals a full one."""
    number = int.from_bytes(hashlib.sha256(data).digest()[:4])
    kind, cut = _SESSION_KINDS[number % 3], number % (len(data) + 1)
    full = read(reader, data, kind=kind)
    assert 0 <= full.resume <= full.end <= len(data)
    assert without_progress(read_in_pieces(reader, data, [cut], kind)) == without_progress(full), (
        f"{kind} cut at {cut}"
    )


def claude_seeds() -> Iterator[bytes]:
    file = ClaudeFile(Path("x"))
    file.turn("fix the parser", "done", "make test", "ok")
    file.meta("ai-title", aiTitle="Parser")
    file.prompt("again", isMeta=True)
    yield from _with_damage(file)


def codex_seeds() -> Iterator[bytes]:
    file = CodexFile(Path("x"))
    file.meta()
    file.turn("fix the parser", "done", "make test", "ok")
    file.tokens(10, 2, 5)
    file.event("thread_rolled_back", num_turns=1)
    yield from _with_damage(file)


def _with_damage(file: Lines) -> Iterator[bytes]:
    lines = file.lines()
    yield b"".join(lines)
    yield lines[0][:60] + b"".join(lines[1:])
    yield lines[0].rstrip() + lines[1] + b"\0" * 20 + lines[2] + lines[-1][:-30]
    yield b"\xef\xbb\xbf" + lines[0].replace(b"fix", b"\xff\\ud83d")


def check_history(data: bytes) -> None:
    prompts, end, _ = read_history(io.BytesIO(data), Mark(0, 0), root="/nonexistent")
    for prompt in prompts:
        assert prompt.session_id and prompt.text.strip()
    assert end.offset <= len(data)
    with _directory() as directory:
        path = os.path.join(directory, "sessions-index.json")
        _write(path, data)
        read_sessions_index(path)


def history_seeds() -> Iterator[bytes]:
    pasted = {"1": {"content": "the whole text"}}
    typed = {"display": "fix [Pasted text #1]", "pastedContents": pasted, "sessionId": "abcd-1"}
    yield encode({**typed, "timestamp": 1_790_000_000_000, "project": "/p"})
    yield encode({"session_id": "abcd-1", "ts": 1_790_000_000, "text": "fix the parser"})
    entry = {"sessionId": "abcd-1", "summary": "Parser", "created": "2026-09-21T10:00:00Z"}
    yield encode({"version": 1, "entries": [entry]})


def check_zst_stream(data: bytes) -> None:
    stream = ZstStream(io.BytesIO(data), len(data))
    total = 0
    while block := stream.read(1 << 20):
        total += len(block)
    assert total <= 66 * 1024 * 1024 + 200 * len(data)


def zst_seeds() -> Iterator[bytes]:
    raw = encode_object(_turn())
    frame = make_frame("turn", _turn()).data
    yield frame
    yield frame + frame
    yield frame[: len(raw) // 4]


# The store.


def check_pack(data: bytes) -> None:
    """Check that a pack without its index yields only intact objects."""
    with _directory() as directory:
        _write(pack.pack_path(directory, _NAME), data)
        _read_pack(directory)


def check_pack_index(data: bytes) -> None:
    """Check that a pack index with a valid checksum never leads to other bytes."""
    with _directory() as directory:
        _write(pack.pack_path(directory, _NAME), _make_pack()[0])
        body = data[:-32]
        _write(pack.index_path(directory, _NAME), body + hashlib.sha256(body).digest())
        _read_pack(directory)


_NAME = "0" * 64


def _read_pack(directory: str) -> None:
    try:
        reader = pack.Pack(directory, _NAME)
    except CcgrepError:
        return
    try:
        known = [*reader.ids()][:50]
        for id in (*known, ObjectId(bytes(32)), ObjectId(b"\xff" * 32)):
            try:
                frame = reader.read(id)
                if frame is not None:
                    assert object_id(frame.kind, unpack_frame(frame)) == frame.id
            except CcgrepError:
                continue
        reader.is_intact()
        for _ in reader.scan():
            pass
    except CcgrepError:
        pass
    finally:
        reader.close()


def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


@cache
def _make_pack() -> tuple[bytes, bytes]:
    """Return a pack of three objects, and its index."""
    with _directory() as directory:
        writer = pack.PackWriter(directory, directory)
        for frame in (make_frame("turn", _turn()), make_frame("shard", _shard()), _snapshot()):
            writer.add(frame)
        name = writer.finish()
        paths = (pack.pack_path(directory, name), pack.index_path(directory, name))
        content, index = (Path(path).read_bytes() for path in paths)
    return content, index


def pack_seeds() -> Iterator[bytes]:
    content = _make_pack()[0]
    yield content
    yield content[: len(content) // 2]
    yield content[:8] + content[60:]


def pack_index_seeds() -> Iterator[bytes]:
    yield _make_pack()[1]


def check_objects(data: bytes) -> None:
    """Check that bytes are rejected or decode to a value with one encoding."""
    for kind in (Snapshot, Shard, Manifest, Turn):
        try:
            value = decode(data, kind)
        except CcgrepError:
            continue
        encoded = encode_object(value)
        assert encode_object(decode(encoded, kind)) == encoded


def object_seeds() -> Iterator[bytes]:
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


def check_columns(data: bytes) -> None:
    try:
        columns = ColumnFile("fuzz", data)
        for name in ("a", "b", "missing"):
            columns.column(name).sum()
    except CcgrepError:
        pass


def column_seeds() -> Iterator[bytes]:
    import numpy as np  # noqa: PLC0415 - only for this target

    yield encode_columns({"a": np.arange(9), "b": np.zeros(3, "u1")}, {"words": ["make", "git"]})


# Queries, patterns and shell scripts.


def check_query(data: bytes) -> None:
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
    """Split text into words, roughly as the full-text index does."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()


def query_seeds() -> Iterator[bytes]:
    yield from (
        b'parser "a phrase" src/auth.ts',
        b"getUserName caf\xc3\xa9",
        "日本語の検索".encode(),
    )
    yield from (text.encode("utf-8", "replace") for text in ATTACKS.values())


def check_pattern_plan(data: bytes) -> None:
    """Check that every matching text has what the pattern's plan requires.

    The first line is a byte of flags and a pattern, the rest is the text.
    """
    first, _, text = data.partition(b"\n")
    pattern = first[1:].decode("utf-8", "replace")
    flags = first[0] if first else 0
    try:
        matcher = Matcher([pattern], bool(flags & 1), bool(flags & 2), bool(flags & 4))
    except CcgrepError:
        return
    count = matcher.count(text)
    assert count or next(matcher.spans(text), None) is None
    if count and not flags & 2:
        assert _satisfies(matcher.plan, text.decode("utf-8", "replace")), pattern


def _satisfies(plan: Plan | str | None, text: str) -> bool:
    if isinstance(plan, Plan):
        test = all if plan.kind == "all" else any
        return test(_satisfies(part, text) for part in plan.parts)
    return plan is None or plan in text


def pattern_seeds() -> Iterator[bytes]:
    yield b"\0(a+)+$\naaaaaaaaaaaaab"
    yield b"\0fo(o|ba?r){2,3}[a-z]*\\.\\Qx.y\\E\nfoobarbarz.x.y"
    yield b"\1a.b\nxa.by"
    yield b"\4caf\xc3\xa9|\\bx\\b\nun caf\xc3\xa9"
    yield b"\2Stra(ss|\xc3\x9f)e\nSTRASSE"


def check_shell(data: bytes) -> None:
    script = shell.parse(data.decode("utf-8", "replace"))
    assert len(script.base) <= 64
    verdict = safety.judge(script)
    covered = [part for part in script.parts if safety.covers(verdict.rule, part.text)]
    assert not verdict.rule or (script.is_plain and covered)


def shell_seeds() -> Iterator[bytes]:
    yield b"cd /x && FOO=1 sudo -u root git -C y status | head -5 > /dev/null 2>&1"
    yield b"cat <<'EOF'\n$(rm -rf /)\nEOF\nfor f in *; do echo \"$f\"; done"
    yield b"[[ -f a ]] || timeout 5 bash -lc 'make -j$(nproc)'; ((x+=1))"


TARGETS: dict[str, Target] = {
    "claude": Target(check_claude_reader, claude_seeds),
    "codex": Target(check_codex_reader, codex_seeds),
    "history": Target(check_history, history_seeds),
    "zst": Target(check_zst_stream, zst_seeds),
    "pack": Target(check_pack, pack_seeds),
    "index": Target(check_pack_index, pack_index_seeds),
    "objects": Target(check_objects, object_seeds),
    "columns": Target(check_columns, column_seeds),
    "query": Target(check_query, query_seeds),
    "regex": Target(check_pattern_plan, pattern_seeds),
    "shell": Target(check_shell, shell_seeds),
}
