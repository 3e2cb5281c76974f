"""`ccgrep import`: exchange files, and the data exports of claude.ai and ChatGPT."""

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccgrep.errors import UsageError
from ccgrep.model import Note
from ccgrep.ops.import_sessions import read_sessions
from ccgrep.sources import json_array
from ccgrep.sources.json_array import read_array
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.readers import turn_id

HEADER = {"type": "ccgrep-exchange", "version": 1}
SESSION = {"type": "session", "id": "tea-1", "title": "Tea", "cwd": "/work/tea"}
TURN: dict[str, Any] = {
    "type": "turn",
    "prompt": "where is the tea",
    "started": "2026-09-21T10:00:00Z",
    "parts": [
        {"type": "thinking", "text": "a cupboard?", "model": "m1"},
        {"type": "call", "name": "Bash", "input": {"command": "ls"}, "output": "kettle"},
        {"type": "text", "text": "in the kettle", "model": "m1"},
        {"type": "note", "kind": "interrupted", "text": "stopped"},
    ],
    "tokens": [{"model": "m1", "input": 3, "output": 4}],
}
CLAUDE = [
    {
        "uuid": "6a4f1d0e-0000-4000-8000-000000000001",
        "name": "Brewing",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "how long does sencha steep",
                "created_at": "2025-05-01T10:00:00Z",
                "attachments": [{"file_name": "tea.txt", "extracted_content": "green leaves"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "created_at": "2025-05-01T10:00:05Z",
                "content": [
                    {"type": "thinking", "thinking": "temperature matters"},
                    {"type": "tool_use", "name": "web_search", "input": {"query": "sencha"}},
                    {"type": "tool_result", "content": [{"type": "text", "text": "70 degrees"}]},
                    {"type": "text", "text": "one minute"},
                ],
            },
        ],
    },
    {"uuid": "6a4f1d0e-0000-4000-8000-000000000002", "name": "", "chat_messages": []},
]


def node(id: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    fields = content if isinstance(content, dict) else {"content_type": "text", "parts": [content]}
    message = {"id": id, "author": {"role": role}, "content": fields, "create_time": 1.7e9, **more}
    return {"id": id, "parent": parent, "children": [], "message": message}


CHATGPT = [
    {
        "title": "Coffee",
        "conversation_id": "c0ffee00-0000-4000-8000-000000000001",
        "current_node": "n6",
        "mapping": {
            "root": {"id": "root", "parent": None, "message": None, "children": []},
            "n1": node("n1", "root", "user", "which grinder do you advise"),
            "n2": node("n2", "n1", "assistant", "a burr grinder", metadata={"model_slug": "gpt-9"}),
            "n3": node("n3", "n2", "user", "and for travel"),
            "n4": node(
                "n4", "n2", "user", {"content_type": "multimodal_text", "parts": [
                    {"content_type": "image_asset_pointer"}, "and for the office"]}
            ),
            "n5": node(
                "n5", "n4", "assistant", {"content_type": "code", "text": "search('grinder')"},
                recipient="browser",
            ),
            "n5b": node("n5b", "n5", "tool", {"content_type": "execution_output", "text": "found"}),
            "n6": node("n6", "n5b", "assistant", "an electric one"),
        },
    }
]  # fmt: skip


def write_exchange(path: Path, *values: object) -> str:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return str(path)


def write_zip(path: Path, **members: object) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in members.items():
            archive.writestr(f"export/{name}.json", json.dumps(value))
    return str(path)


def test_exchange_file_is_imported_once_and_survives_without_its_file(
    home: Home, tmp_path: Path
) -> None:
    path = write_exchange(tmp_path / "tea.jsonl", HEADER, SESSION, TURN)
    done = home.run("import", path)
    assert (done.returncode, done.stderr) == (
        0,
        "1 session, 1 of them new: 1 turn\n",
    )
    Path(path).unlink()
    assert home.run("kettle", "--source", "imported").stdout.startswith("tea-1:0:")
    for words in (["index"], ["index", "--full"], ["index", "--recreate"]):
        assert home.run(*words).returncode == 0
        assert home.prompts("tea-1") == [TURN["prompt"]], words
        assert not home.rows()["tea-1"].is_gone
    session = home.rows()["tea-1"].session
    assert (session.title, session.cwd, session.input_tokens) == ("Tea", "/work/tea", 3)
    (turn,) = home.turns("tea-1")
    assert [type(step).__name__ for step in turn.steps] == ["Message", "Message", "Message", "Note"]


def test_newer_file_replaces_turns_and_keeps_those_it_lacks(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "tea.jsonl"
    second = {"type": "turn", "prompt": "and the milk"}
    home.run("import", write_exchange(path, HEADER, SESSION, TURN))
    home.run("import", write_exchange(path, HEADER, SESSION, TURN, second))
    assert home.prompts("tea-1") == [TURN["prompt"], "and the milk"]
    done = home.json("import", write_exchange(path, HEADER, SESSION, TURN))
    assert done["new_sessions"] == 0 and len(home.prompts("tea-1")) == 2
    home.run("import", write_exchange(path, HEADER, SESSION, second))
    assert home.prompts("tea-1") == ["and the milk"]
    assert home.prompts("tea-1~2") == [TURN["prompt"], "and the milk"]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([SESSION], ":1: no header"),
        ([{**HEADER, "version": 2}], ":1: version 2, not 1"),
        ([HEADER, HEADER], ":2: a second header"),
        ([HEADER, TURN], ":2: a turn before the first session"),
        ([HEADER, {**SESSION, "id": "../x"}], ":2: invalid id '../x'"),
        ([HEADER, {**SESSION, "id": ""}], "invalid id ''"),
        ([HEADER, {**SESSION, "source": "nobody"}], ":2: unknown source 'nobody'"),
        ([HEADER, {**SESSION, "titel": "x"}], "titel"),
        ([HEADER, SESSION, {**TURN, "started": "soon"}], ":3: invalid time 'soon'"),
        ([HEADER, SESSION, TURN, 5], ":4: "),
    ],
)
def test_file_with_an_error_is_named_and_not_imported(
    home: Home, tmp_path: Path, values: list[object], problem: str
) -> None:
    done = home.run("import", write_exchange(tmp_path / "bad.jsonl", *values))
    assert done.returncode == 2 and problem in done.stderr, done.stderr
    assert home.rows() == {}


def test_claude_ai_export_is_imported(home: Home, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "data.zip", conversations=CLAUDE, users=[])
    assert home.json("import", path)["sessions"] == 1
    (row,) = home.rows().values()
    assert (row.session.source, row.session.title) == ("claude_ai", "Brewing")
    (turn,) = home.turns(row.session.id)
    assert turn.prompt == "how long does sencha steep"
    assert turn.assistant_texts() == ["one minute"]
    assert turn.thinking_texts() == ["temperature matters"]
    (call,) = turn.calls()
    assert call.name == "web_search" and call.result is not None
    assert call.result.text == "70 degrees"
    assert "green leaves" in str(turn.steps)


def test_chatgpt_export_is_imported_with_its_branches(home: Home, tmp_path: Path) -> None:
    first = write_zip(tmp_path / "data.zip", **{"conversations-000": CHATGPT})
    assert home.json("import", first)["sessions"] == 1
    ((id, row),) = home.rows().items()
    assert (row.session.source, row.session.models) == ("chatgpt", ("gpt-9",))
    prompts = ["which grinder do you advise", "and for travel"]
    assert home.prompts(id) == [*prompts, "[image]\nand for the office"]
    undone = [entry.is_rolled_back for entry in home.manifest(id).entries]
    assert undone == [False, True, False]
    (call,) = home.turns(id)[2].calls()
    assert call.name == "browser" and call.result is not None and call.result.text == "found"
    done = home.run("resume", id)
    assert done.returncode == 2 or "no command" in done.stderr + done.stdout


def test_edited_prompts_of_claude_ai_are_undone(home: Home, tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        {"uuid": "m1", "sender": "human", "text": "black tea", "parent_message_uuid": root},
        {"uuid": "m2", "sender": "assistant", "text": "five minutes", "parent_message_uuid": "m1"},
        {"uuid": "m3", "sender": "human", "text": "with milk", "parent_message_uuid": "m2"},
        {"uuid": "m4", "sender": "human", "text": "green tea", "parent_message_uuid": root},
        {"uuid": "m5", "sender": "assistant", "text": "two minutes", "parent_message_uuid": "m4"},
    ]
    chat = {"uuid": "tea", "name": "Tea", "chat_messages": messages}
    write_zip(tmp_path / "data.zip", conversations=[chat])
    assert home.run("import", str(tmp_path / "data.zip")).returncode == 0
    assert home.prompts("tea") == ["black tea", "with milk", "green tea"]
    undone = [entry.is_rolled_back for entry in home.manifest("tea").entries]
    assert undone == [True, True, False]
    assert home.turns("tea")[2].assistant_texts() == ["two minutes"]


def test_attached_files_and_spoken_prompts_of_chatgpt(home: Home, tmp_path: Path) -> None:
    spoken = {"content_type": "audio_transcription", "text": "say it aloud"}
    recording = {"content_type": "real_time_user_audio_video_asset_pointer"}
    mapping = {
        "n1": node("n1", None, "user", "", metadata={"attachments": [{"name": "beans.pdf"}]}),
        "n2": node("n2", "n1", "assistant", "a list of beans"),
        "n3": node("n3", "n2", "user", {"content_type": "multimodal_text", "parts": [
            spoken, recording]}),
        "n4": node("n4", "n3", "user", {"content_type": "multimodal_text", "parts": [recording]}),
    }  # fmt: skip
    chat = {"id": "beans", "title": "Beans", "current_node": "n4", "mapping": mapping}
    write_zip(tmp_path / "data.zip", conversations=[chat])
    assert home.run("import", str(tmp_path / "data.zip")).returncode == 0
    assert home.prompts("beans") == ["", "say it aloud", "[recording]"]
    first = home.turns("beans")[0]
    assert first.steps[0] == Note("context", "beans.pdf")
    assert first.assistant_texts() == ["a list of beans"]


EXCHANGE = b"".join(json.dumps(line).encode() + b"\n" for line in (HEADER, SESSION, TURN))


def zipped(*files: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return data.getvalue()


CHAT = {"uuid": "u", "name": "Tea", "chat_messages": [{"sender": "human", "text": "hello tea"}]}
CHATS = json.dumps([CHAT]).encode()
_WHOLE_ZIP = zipped(("conversations.json", CHATS * 100))
DAMAGED_ZIP = _WHOLE_ZIP[:60] + b"\xff" * 30 + _WHOLE_ZIP[90:]


def test_lone_surrogate_does_not_make_an_export_invalid(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(CHATS.replace(b"hello tea", rb"hello \ud83d tea"))
    assert home.run("import", str(path)).returncode == 0
    assert home.prompts("u") == ["hello \ufffd tea"]


@pytest.mark.parametrize("data", [CHATS, EXCHANGE])
def test_file_may_be_a_pipe(home: Home, data: bytes) -> None:
    done = home.run("import", "/dev/stdin", input=data.decode(), env={})
    assert (done.returncode, done.stderr) == (0, "1 session, 1 of them new: 1 turn\n")


def test_paths_in_a_zip_name_no_file(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(
        zipped(("../../conversations.json", CHATS), ("/x/conversations-2.json", CHATS))
    )
    assert home.run("import", str(path)).returncode == 0
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["a.zip"]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_array_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(json_array, "_CHUNK_BYTES", size)
    items = [CHAT, 12, -1.5, "é€😀", [], {}, None, [[1, 2], {"a": [3]}]]
    for text in (json.dumps(items), json.dumps(items, indent=2, ensure_ascii=False), " [ ] "):
        found = list(read_array(io.BytesIO(text.encode()), 1 << 20))
        assert found == json.loads(text)


@pytest.mark.parametrize(
    ("name", "limit"),
    [("_MAX_ITEMS", 3), ("_MAX_ITEM_VALUES", 3), ("_MAX_ITEM_CHARS", 3)],
)
def test_array_that_would_take_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    monkeypatch.setattr(json_array, "_CHUNK_BYTES", 8)
    monkeypatch.setattr(json_array, name, limit)
    with pytest.raises(ValueError, match="too"):
        list(read_array(io.BytesIO(json.dumps([[1, 2, 3, 4, 5, 6, 7]] * 5).encode()), 1 << 20))
    with pytest.raises(ValueError, match="too large"):
        list(read_array(io.BytesIO(b" " * 100), 99))


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04 damaged", DAMAGED_ZIP, b"[1, 2", b"[]", b'[{"a": 1}]']
)
def test_other_files_are_errors(home: Home, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    done = home.run("import", str(path))
    assert done.returncode == 2 and str(path) in done.stderr


anything = st.recursive(
    st.sampled_from([None, True, 0, 2**70, 1.5, "", "text", "n1", "user", "tool", "2026-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "uuid chat_messages sender text content type mapping current_node message author"
                " role parts parent id thoughts recipient n1 n2 metadata name input attachments"
                " parent_message_uuid current_node".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(
    max_examples=scale.of(60, 2000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(anything, max_size=3), st.sampled_from(["chat_messages", "mapping"]), anything)
def test_exports_may_have_any_json(
    tmp_path: Path, chats: list[Any], name: str, value: object
) -> None:
    path = tmp_path / "any.json"
    path.write_text(json.dumps([*chats, {"uuid": "u", "id": "i", name: value}]))
    with path.open("rb") as file:
        list(read_sessions(file, "any.json", turn_id))


@settings(max_examples=scale.of(60, 2000), deadline=None)
@given(st.data())
def test_exchange_file_with_any_bytes_is_read_or_refused(data: st.DataObject) -> None:
    whole = b"".join(json.dumps(value).encode() + b"\n" for value in (HEADER, SESSION, TURN))
    at = data.draw(st.integers(0, len(whole)))
    mutated = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + 1 :]
    with suppress(UsageError):
        list(read_sessions(io.BytesIO(mutated), "any", turn_id))


def test_forgotten_session_is_not_imported_again(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "tea.jsonl"
    home.run("import", write_exchange(path, HEADER, SESSION, TURN))
    (entry,) = home.manifest("tea-1").entries
    assert home.run("forget", "tea-1").returncode == 0
    other = {**SESSION, "id": "tea-2"}
    second = {"type": "turn", "prompt": "and the milk"}
    done = home.run("import", write_exchange(path, HEADER, SESSION, TURN, other, second))
    assert done.stderr == "1 session, 1 of them new: 1 turn, 1 forgotten earlier\n"
    assert list(home.rows()) == ["tea-2"]
    assert home.store.find_pack(entry.turn) is None
