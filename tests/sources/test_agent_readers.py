"""The readers of further agents accept any bytes, and a resumed reading equals a full one."""

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import scale
from tests.helpers.source_reading import read_bytes, read_in_pieces

words = st.sampled_from(["fix it", "go on", "stop", "/init", "", "日本"])
call_ids = st.sampled_from(["c1", "c2"])
uuids = st.integers(0, 12).map(lambda n: f"00000000-0000-4000-8000-{n:012d}")
times = st.integers(0, 59).map(lambda s: f"2026-09-21T10:00:{s:02d}.000Z")
damage = st.sampled_from([b"\n", b"{\n", b'{"type":"user"', b"\0\0\0\n", b"\xff\n", b'"x"}\n'])
scalars = st.sampled_from([None, True, 0, -1, 2**70, 1.5, "", "text", "\ud83d", "2026-01-01"])
keys = st.sampled_from(
    "type message content id data role text usage uuid timestamp output toolCallId callId parts"
    " result response functionCall functionResponse toolCalls messages $set $rewindTo requests"
    " value kind bubbles thinking toolCallRounds toolCallResults metadata toolSpecificData".split()
)
json_anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


def copilot_event(type: str, *, is_about_agent: bool = False, **data: Any) -> Any:
    optional = {"agentId": uuids} if is_about_agent else {}
    fields = {"type": st.just(type), "data": st.fixed_dictionaries(data), "id": uuids}
    return st.fixed_dictionaries({**fields, "timestamp": times}, optional=optional)


copilot_calls = st.lists(
    st.fixed_dictionaries({"toolCallId": call_ids, "name": st.just("bash"), "arguments": words}),
    max_size=2,
)
copilot_events = st.one_of(
    copilot_event("user.message", content=words),
    copilot_event("assistant.message", messageId=uuids, content=words, toolRequests=copilot_calls),
    copilot_event("tool.execution_start", toolCallId=call_ids, toolName=st.just("bash")),
    copilot_event("tool.execution_complete", toolCallId=call_ids, success=st.booleans()),
    copilot_event("assistant.reasoning", content=words),
    copilot_event("session.error", message=words),
    copilot_event(
        "session.shutdown", modelMetrics=st.just({"m": {"usage": {"inputTokens": 5}}}) | words
    ),
    copilot_event("session.usage_record", usage=st.just({"apiCallId": "a", "inputTokens": 5})),
    copilot_event("session.snapshot_rewind", upToEventId=uuids),
    copilot_event("session.context_changed", cwd=words),
    copilot_event("session.title_changed", title=words),
    copilot_event("tool.user_requested", toolCallId=call_ids, arguments=words),
)
agent_events = copilot_events | st.one_of(
    copilot_event("user.message", is_about_agent=True, content=words),
    copilot_event("assistant.message", is_about_agent=True, messageId=uuids, content=words),
    copilot_event("subagent.started", is_about_agent=True, toolCallId=call_ids),
    copilot_event("assistant.message", content=words, parentToolCallId=call_ids),
)

parts = st.one_of(
    words.map(lambda text: {"text": text}),
    words.map(lambda text: {"text": text, "thought": True}),
    call_ids.map(lambda key: {"functionCall": {"id": key, "name": "ls", "args": {}}}),
    st.builds(
        lambda key, text: {"functionResponse": {"id": key, "response": {"output": text}}},
        call_ids,
        words,
    ),
)
gemini_message = st.fixed_dictionaries(
    {
        "id": uuids,
        "timestamp": times,
        "type": st.sampled_from(["user", "gemini", "info", "error", "song"]),
        "content": words | st.lists(parts, max_size=2),
    },
    optional={
        "tokens": st.just({"input": 3, "output": 1}),
        "toolCalls": st.lists(
            st.fixed_dictionaries({"id": call_ids, "name": st.just("ls"), "status": words}),
            max_size=2,
        ),
    },
)
gemini_records = st.one_of(
    gemini_message,
    gemini_message,
    uuids.map(lambda key: {"$rewindTo": key}),
    st.lists(gemini_message, max_size=3).map(lambda found: {"$set": {"messages": found}}),
    words.map(lambda text: {"$set": {"summary": text}}),
    uuids.map(lambda key: {"sessionId": key, "projectHash": "f"}),
)
qwen_records = st.fixed_dictionaries(
    {
        "uuid": uuids,
        "parentUuid": st.none() | uuids,
        "timestamp": times,
        "type": st.sampled_from(["user", "assistant", "tool_result", "system", "song"]),
        "cwd": words,
        "message": st.fixed_dictionaries({"parts": st.lists(parts, max_size=2)}),
    },
    optional={
        "subtype": st.sampled_from(["rewind", "custom_title", "notification", "slash_command"]),
        "systemPayload": st.fixed_dictionaries({"customTitle": words, "rawCommand": words}),
    },
)
cursor_blocks = st.lists(
    words.map(lambda text: {"type": "text", "text": f"<user_query>{text}</user_query>"})
    | words.map(lambda text: {"type": "tool_use", "name": "Shell", "input": {"path": f"/{text}"}}),
    max_size=2,
)
cursor_records = st.one_of(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "song"]),
            "message": st.fixed_dictionaries({"content": words | cursor_blocks}),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("turn_ended"), "status": words}, optional={"error": words}
    ),
)
chat_requests = st.fixed_dictionaries(
    {
        "requestId": uuids,
        "timestamp": st.integers(1_790_000_000_000, 1_790_000_000_009),
        "message": st.fixed_dictionaries({"text": words}),
        "response": st.lists(
            words.map(lambda text: {"value": text})
            | st.fixed_dictionaries(
                {
                    "kind": st.sampled_from(["toolInvocationSerialized", "textEditGroup"]),
                    "toolId": st.sampled_from(["ls", "runSubagent"]),
                    "toolCallId": call_ids,
                },
                optional={"fromSubAgent": st.booleans(), "subAgentInvocationId": call_ids},
            ),
            max_size=2,
        ),
    },
    optional={"isSystemInitiated": st.booleans(), "isCanceled": st.booleans()},
)
chat_paths = st.sampled_from(
    [["requests"], ["requests", 0], ["requests", 0, "response"], ["x"], []]
)
chat_changes = st.one_of(
    st.lists(chat_requests, max_size=2).map(lambda found: {"kind": 0, "v": {"requests": found}}),
    st.fixed_dictionaries(
        {"kind": st.integers(1, 4), "k": chat_paths, "v": st.lists(chat_requests, max_size=2)},
        optional={"i": st.integers(-1, 3)},
    ),
)
ide_rows = st.one_of(
    st.fixed_dictionaries({"composer": st.fixed_dictionaries({"name": words})}),
    st.fixed_dictionaries(
        {
            "bubble": st.fixed_dictionaries(
                {"bubbleId": uuids, "type": st.integers(1, 2), "text": words, "createdAt": times},
                optional={
                    "toolFormerData": st.dictionaries(
                        st.sampled_from(["name", "rawArgs", "params", "result", "status"]), words
                    )
                },
            )
        }
    ),
)


opencode_parts = st.one_of(
    words.map(lambda text: {"type": "text", "text": text}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool"),
            "state": st.fixed_dictionaries(
                {"status": st.sampled_from(["completed", "error", "running"])},
                optional={"content": st.just([{"type": "file", "uri": None}]) | words},
            ),
        }
    ),
)
opencode_rows = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["message", "message", "session", "part"]),
        "id": uuids,
        "data": st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant"]), "text": words},
            optional={
                "content": st.lists(opencode_parts, max_size=2),
                "files": st.just([{"data": "aGk=", "mime": None}]) | words,
                "error": st.just({"type": "aborted", "message": 1}) | words,
                "outcome": st.sampled_from(["interrupted", 5]),
            },
        ),
    },
    optional={
        "kind": st.sampled_from(
            "user assistant synthetic shell compaction idle skill agent-switched".split()
        )
        | st.sampled_from([5, []])
    },
)


class Kind(NamedTuple):
    """A form of history: what its records are, and the path of a file."""

    source: str
    records: Any
    path: str


KINDS = {
    "copilot_cli": Kind("copilot_cli", copilot_events, "session-state/some-id/events.jsonl"),
    "copilot_cli agents": Kind("copilot_cli", agent_events, "session-state/some-id/events.jsonl"),
    "gemini": Kind("gemini", gemini_records, "tmp/shop/chats/session-1.jsonl"),
    "gemini document": Kind("gemini", gemini_records, "tmp/shop/chats/session-1.json"),
    "chat": Kind("copilot_chat", chat_changes, "hash/chatSessions/some-id.jsonl"),
    "chat document": Kind("copilot_chat", chat_changes, "hash/chatSessions/some-id.json"),
    "cursor": Kind("cursor", cursor_records, "projects/shop/agent-transcripts/some/some.jsonl"),
    "cursor chat": Kind("cursor", ide_rows, "globalStorage/state.vscdb#some-id"),
    "opencode document": Kind("opencode", opencode_rows, "opencode.db#ses_a"),
    "qwen": Kind("qwen", qwen_records, "projects/shop/chats/some-id.jsonl"),
}
kinds = st.sampled_from(sorted(KINDS))
ROOT = Path("/nonexistent")


def file_of(records: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    lines = records.map(lambda record: json.dumps(record).encode() + b"\n") | damage
    return st.lists(lines, max_size=14).map(b"".join)


def read(name: str, data: bytes) -> Any:
    kind = KINDS[name]
    return read_bytes(kind.source, data, ROOT / kind.path, ROOT)


@pytest.mark.parametrize("name", [name for name in KINDS if "document" not in name])
@settings(max_examples=scale.of(20, 300), deadline=None)
@given(data=st.data())
def test_resumed_reading_equals_a_full_one(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    content = data.draw(file_of(kind.records))
    cuts = data.draw(st.lists(st.integers(0, 3000), max_size=4))
    path = ROOT / kind.path
    resumed = read_in_pieces(kind.source, content, path, ROOT, cuts)
    assert resumed == read_in_pieces(kind.source, content, path, ROOT, [])


@pytest.mark.parametrize("name", list(KINDS))
@settings(max_examples=scale.of(25, 200), deadline=None)
@given(data=st.data())
def test_readers_accept_any_bytes(name: str, data: st.DataObject) -> None:
    content = data.draw(st.binary(max_size=300) | file_of(KINDS[name].records))
    reading = read(name, content)
    assert 0 <= reading.resume <= reading.end <= len(content)
    assert reading.resume_crc == zlib.crc32(content[: reading.resume])
    assert reading.end_crc == zlib.crc32(content[: reading.end])


@settings(max_examples=scale.of(40, 500), deadline=None)
@given(
    kinds,
    st.dictionaries(keys, json_anything, max_size=5),
    st.sampled_from(
        "user assistant system user.message assistant.message tool.execution_complete"
        " session.start gemini tool_result".split()
    ),
)
def test_readers_accept_any_json(name: str, fields: dict[str, Any], type: str) -> None:
    line = json.dumps({**fields, "type": type}).encode() + b"\n"
    assert read(name, line).end == len(line)
