"""The readers accept any bytes, and a resumed reading equals a full one."""

import json
import zlib
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ccgrep.kinds import SessionKind
from tests.helpers import scale
from tests.helpers.readers import read, read_in_pieces, without_progress

words = st.sampled_from(["fix it", "go on", "stop", "/init", "Warmup", "", "日本"])
ids = st.sampled_from(["m1", "m2", "m3"])
call_ids = st.sampled_from(["c1", "c2"])
uuids = st.integers(0, 40).map(lambda n: f"00000000-0000-4000-8000-{n:012d}")
times = st.integers(0, 59).map(lambda s: f"2026-09-21T10:00:{s:02d}.000Z")
blocks = st.one_of(
    words.map(lambda text: {"type": "text", "text": text}),
    words.map(lambda text: {"type": "thinking", "thinking": text}),
    call_ids.map(lambda key: {"type": "tool_use", "id": key, "name": "Bash", "input": {"a": 1}}),
    st.builds(
        lambda key, text: {"type": "tool_result", "tool_use_id": key, "content": text},
        call_ids,
        words,
    ),
)


def message(role: str) -> st.SearchStrategy[dict[str, Any]]:
    content = words | st.lists(blocks, max_size=2)
    return st.fixed_dictionaries(
        {"role": st.just(role), "content": content},
        optional={"id": ids, "model": st.just("opus"), "usage": st.just({"input_tokens": 3})},
    )


envelope: dict[str, Any] = {"uuid": uuids, "timestamp": times, "parentUuid": st.none() | uuids}
flags: dict[str, Any] = {
    "isMeta": st.booleans(),
    "isCompactSummary": st.booleans(),
    "isSidechain": st.booleans(),
    "requestId": st.just("r1"),
}
commands = words.map(
    lambda text: f"<command-name>/x</command-name><command-args>{text}</command-args>"
)
claude_records = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("user"), "message": message("user"), **envelope}, optional=flags
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("user"),
            "message": st.fixed_dictionaries({"role": st.just("user"), "content": commands}),
            **envelope,
        }
    ),
    st.fixed_dictionaries({"type": st.just("assistant"), "message": message("a"), **envelope}),
    st.fixed_dictionaries(
        {
            "type": st.just("queue-operation"),
            "operation": st.sampled_from(["enqueue", "remove", "dequeue", "popAll"]),
            "timestamp": times,
        },
        optional={"content": words},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("attachment"),
            "attachment": st.fixed_dictionaries(
                {"type": st.just("queued_command"), "prompt": words}
            ),
            **envelope,
        }
    ),
    st.fixed_dictionaries({"type": st.just("ai-title"), "aiTitle": words}),
    st.fixed_dictionaries({"type": st.just("summary"), "summary": words, "leafUuid": uuids}),
    st.fixed_dictionaries({"type": words}),
)
payloads = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("message"),
            "role": st.sampled_from(["user", "assistant", "developer"]),
            "content": st.lists(st.fixed_dictionaries({"text": words}), max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["function_call", "function_call_output"]), "call_id": call_ids},
        optional={"name": words, "arguments": words, "output": words},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["user_message", "agent_message"]), "message": words}
    ),
    st.fixed_dictionaries({"type": st.just("thread_rolled_back"), "num_turns": st.integers(0, 3)}),
    st.fixed_dictionaries({"id": words, "cwd": words}),
)
codex_records = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["response_item", "event_msg", "session_meta", "turn_context"]),
        "timestamp": times,
        "payload": payloads,
    }
)
session_kinds: st.SearchStrategy[SessionKind] = st.sampled_from(["main", "subagent", "worker"])
damage = st.sampled_from([b"\n", b"{\n", b'{"type":"user"', b"\0\0\0\n", b"\xff\n", b'"x"}\n'])


def file_of(records: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    lines = records.map(lambda record: json.dumps(record).encode() + b"\n") | damage
    return st.lists(lines, max_size=14).map(b"".join)


@settings(max_examples=scale.of(80, 400), deadline=None)
@given(file_of(claude_records), st.lists(st.integers(0, 3000), max_size=4), session_kinds)
def test_resumed_claude_reading_equals_a_full_one(
    data: bytes, cuts: list[int], kind: SessionKind
) -> None:
    full = read("claude", data, kind=kind)
    assert without_progress(read_in_pieces("claude", data, cuts, kind)) == without_progress(full)


@settings(max_examples=scale.of(80, 400), deadline=None)
@given(file_of(codex_records), st.lists(st.integers(0, 3000), max_size=4))
def test_resumed_codex_reading_equals_a_full_one(data: bytes, cuts: list[int]) -> None:
    assert without_progress(read_in_pieces("codex", data, cuts)) == without_progress(
        read("codex", data)
    )


INJECTED_LAST = b"".join(
    json.dumps(record).encode() + b"\n"
    for record in (
        {"type": "summary", "summary": "before"},
        {"type": "queue-operation", "operation": "remove", "content": "fix it"},
        {"type": "summary", "summary": "after"},
    )
)
"""A prompt that begins its turn only at the end of the file, after another record."""


@settings(max_examples=scale.of(80, 400), deadline=None)
@given(st.sampled_from(["claude", "codex"]), file_of(claude_records | codex_records))
@example("claude", INJECTED_LAST)
def test_checksums_cover_all_bytes_before_their_offset(reader: str, data: bytes) -> None:
    reading = read(reader, data)
    assert reading.resume_crc == zlib.crc32(data[: reading.resume])
    assert reading.end_crc == zlib.crc32(data[: reading.end])


@settings(max_examples=scale.of(60, 300), deadline=None)
@given(st.binary(max_size=300) | file_of(claude_records | codex_records))
def test_readers_accept_any_bytes(data: bytes) -> None:
    for reader in ("claude", "codex"):
        reading = read(reader, data)
        assert 0 <= reading.resume <= reading.end <= len(data)


scalars = st.sampled_from([None, True, 0, -1, 2**70, 1.5, "", "text", "\ud83d", "2026-01-01"])
keys = st.sampled_from(
    "type message content id payload role text usage uuid source info attachment operation"
    " timestamp output call_id isMeta origin summary subagent entries".split()
)
json_anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(
    "user assistant system attachment queue-operation summary event_msg response_item"
    " session_meta turn_context compacted message".split()
)


@settings(max_examples=scale.of(100, 500), deadline=None)
@given(kinds, st.dictionaries(keys, json_anything, max_size=5))
def test_readers_accept_any_json(kind: str, fields: dict[str, Any]) -> None:
    line = json.dumps({**fields, "type": kind}).encode() + b"\n"
    for reader in ("claude", "codex"):
        reading = read(reader, line)
        assert reading.end == len(line)
