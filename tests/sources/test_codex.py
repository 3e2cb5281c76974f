"""Peculiarities of Codex's rollouts, found by a census of real ones."""

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from ccgrep.kinds import NoteKind
from ccgrep.model import (
    BadSpot,
    Blob,
    Message,
    Note,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
)
from ccgrep.store.manifest import Row
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import CodexFile, iso

MODEL = "gpt-5-codex"
FUTURE_S = 4_000_000_000
"""An mtime in the future, which never proves that a file is unchanged."""
ROLLOUT_ID = "0199f1e2-7d1c-7aa0-9c55-3f2d1b0a9e87"


def read(home: Home, file: CodexFile) -> list[Turn]:
    file.write()
    home.index()
    return home.turns(file.id)


def message(*parts: Text | Thinking | ToolCall | str) -> Message:
    return Message(tuple(Text(p) if isinstance(p, str) else p for p in parts), MODEL)


def shell_call(command: str, output: str) -> ToolCall:
    return ToolCall("shell", {"command": ["bash", "-lc", command]}, ToolResult(output))


def add_user_item(file: CodexFile, *texts: str) -> None:
    parts = [{"type": "input_text", "text": text} for text in texts]
    file.item("message", role="user", content=parts)


def compress(path: Path) -> Path:
    """Replace a rollout by a compressed file, as Codex does after a week."""
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstd.compress(path.read_bytes(), 3))
    path.unlink()
    return packed


def only_row(home: Home) -> Row:
    (row,) = home.rows().values()
    return row


def test_nul_bytes_and_foreign_lines_are_bad_lines(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    begin = len(b"".join(file.lines()))
    foreign = json.dumps({"models": [{"slug": "gpt-5", "shell_type": "bash"}]}, indent=2)
    damage = [bytes(4096) + b'"fetched_at": "2026-01-01"\n']
    damage += [line.encode() + b"\n" for line in foreign.splitlines()]
    for line in damage:
        file.raw(line)
    file.turn("two", "second")

    assert read(home, file) == [
        Turn("one", steps=(message("first"),)),
        Turn("two", steps=(message("second"),)),
    ]
    manifest = home.manifest(file.id)
    lengths = [len(line) for line in damage]
    offsets = [begin + sum(lengths[:n]) for n in range(len(damage))]
    assert manifest.bad == tuple(
        BadSpot(offset, length, "not JSON") for offset, length in zip(offsets, lengths, strict=True)
    )
    assert manifest.session.bad_lines == len(damage)


def test_replacement_history_of_a_compaction_begins_no_turn(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    copies = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}
    ]
    file.add("compacted", message="", replacement_history=copies)
    file.event("context_compacted")
    file.turn("two", "second")
    file.add("compacted", message="All that happened.")
    assert read(home, file) == [
        Turn("one", steps=(message("first"),)),
        Turn("two", steps=(message("second"), Note("summary", "All that happened."))),
    ]


def test_message_written_twice_is_read_once(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.prompt("one")
    thought = [{"type": "summary_text", "text": "hm"}]
    file.event("agent_reasoning", text="hm")
    file.item("reasoning", summary=thought, content=None, encrypted_content="gAAAAAB")
    file.command("ls", "a.py")
    file.event("agent_message", message="cited")
    cited = "cited\n<oai-mem-citation>m1</oai-mem-citation>"
    file.item("message", role="assistant", content=[{"type": "output_text", "text": cited}])
    file.event("task_complete", last_agent_message="cited")
    file.turn("go on", "more")
    file.turn("go on", "more")
    assert read(home, file) == [
        Turn("one", steps=(message(Thinking("hm"), shell_call("ls", "a.py")), message("cited"))),
        Turn("go on", steps=(message("more"),)),
        Turn("go on", steps=(message("more"),)),
    ]


def test_message_written_once_on_either_side_is_read(home: Home) -> None:
    file = home.codex()
    file.meta()
    add_user_item(file, "item only")
    file.item("message", role="assistant", content=[{"type": "output_text", "text": "a"}])
    file.event("user_message", message="event only")
    file.event("agent_message", message="b")
    file.event("user_message", message="event first")
    add_user_item(file, "event first")
    file.answer("c")
    assert read(home, file) == [
        Turn("item only", steps=(message("a"),)),
        Turn("event only", steps=(message("b"),)),
        Turn("event first", steps=(message("c"),)),
    ]


def test_injected_user_items_begin_no_turn(home: Home) -> None:
    file = home.codex()
    file.meta()
    permissions = [{"type": "input_text", "text": "<permissions instructions>"}]
    file.item("message", role="developer", content=permissions)
    agents = "# AGENTS.md instructions for /home/sam/src/api\n\n<INSTRUCTIONS>\nBe brief."
    environment = "<environment_context>\n<cwd>/home/sam/src/api</cwd>\n</environment_context>"
    add_user_item(file, agents, environment)
    for injected in ("<user_instructions>x", "<recommended_plugins>x", "<INSTRUCTIONS>x"):
        add_user_item(file, injected)
    asked = (
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix a\n"
    )
    file.prompt(asked)
    file.answer("fixed")
    notes: dict[str, NoteKind] = {
        "<turn_aborted>\nThe user interrupted.": "interrupted",
        "<skill>\n<name>deploy</name>": "context",
        "<user_action>review</user_action>": "context",
        "<subagent_notification>done</subagent_notification>": "notification",
    }
    for text in notes:
        add_user_item(file, text)
    assert read(home, file) == [
        Turn("fix a", steps=(message("fixed"), *(Note(kind, text) for text, kind in notes.items())))
    ]
    assert only_row(home).session.title == "fix a"


def test_event_with_part_of_its_item_is_the_same_prompt(home: Home) -> None:
    file = home.codex()
    file.meta()
    content = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "what is it?"},
    ]
    file.item("message", role="user", content=content)
    file.event("user_message", message="what is it?", images=[], local_images=["/tmp/a.png"])
    file.answer("a cat")
    blob = Blob("image/png", 4, hashlib.sha256(b"\x89PNG").hexdigest())
    assert read(home, file) == [Turn("what is it?", attached=(blob,), steps=(message("a cat"),))]


def add_completed_item(file: CodexFile, type: str, **fields: Any) -> None:
    item = {"type": type, "id": f"item_{len(file.records)}", **fields}
    file.event("item_completed", thread_id=file.id, turn_id="1", item=item)


def add_paginated_turn(
    file: CodexFile, prompt: str, command: str, output: str, answer: str
) -> None:
    add_user_item(file, prompt)
    add_completed_item(file, "UserMessage", content=[{"type": "text", "text": prompt}])
    file.command(command, output)
    add_completed_item(file, "CommandExecution", command=command, aggregated_output=output)
    text = [{"type": "output_text", "text": answer}]
    file.item("message", role="assistant", content=text)
    add_completed_item(file, "AgentMessage", content=[{"type": "Text", "text": answer}])


def test_paginated_rollout_is_read_once(home: Home) -> None:
    file = home.codex()
    file.meta(history_mode="paginated", cli_version="0.148.0")
    add_paginated_turn(file, "one", "ls", "a.py", "first")
    add_paginated_turn(file, "one", "ls", "b.py", "second")
    for ordinal, record in enumerate(file.records):
        assert isinstance(record, dict)
        record["ordinal"] = ordinal
    assert read(home, file) == [
        Turn("one", steps=(message(shell_call("ls", "a.py")), message("first"))),
        Turn("one", steps=(message(shell_call("ls", "b.py")), message("second"))),
    ]
    session = only_row(home).session
    assert (session.title, session.messages, session.tools) == ("one", 6, 2)


def test_paginated_rollout_with_only_completed_items_is_read(home: Home) -> None:
    file = home.codex()
    file.meta(history_mode="paginated")
    add_completed_item(file, "UserMessage", content=[{"type": "text", "text": "one"}])
    add_completed_item(file, "AgentMessage", content=[{"type": "Text", "text": "first"}])
    assert read(home, file) == [Turn("one", steps=(message("first"),))]


def test_paginated_fork_names_its_parent(home: Home) -> None:
    parent, fork = home.codex(1), home.codex(2)
    parent.meta(history_mode="paginated")
    add_paginated_turn(parent, "one", "ls", "a.py", "first")
    parent.write()
    size = parent.path.stat().st_size
    base = {"thread_id": parent.id, "end_ordinal_exclusive": 9, "end_byte_offset": size}
    fork.meta(history_mode="paginated", history_base=base)
    add_paginated_turn(fork, "two", "ls", "b.py", "second")
    read(home, fork)
    session = home.rows()[fork.id].session
    assert (session.kind, session.forked_from) == ("main", parent.id)
    assert home.prompts(fork.id) == ["two"]


def test_compressed_rollout_is_read(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first", "ls", "a.py")
    path = compress(file.write())
    home.index()
    turn = Turn("one", steps=(message(shell_call("ls", "a.py")), message("first")))
    assert home.turns(file.id) == [turn]
    assert only_row(home).files[0].path == str(path)
    assert home.index().bytes_parsed == 0


def test_compressed_rollout_rewritten_at_equal_size_is_reread(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("aaaa", "first")
    path = compress(file.write())
    os.utime(path, (FUTURE_S, FUTURE_S))
    home.index()
    size = path.stat().st_size
    others = (b"%04d" % number for number in range(10_000))
    plain = b"".join(file.lines())
    packed = ((word, zstd.compress(plain.replace(b"aaaa", word), 3)) for word in others)
    word, content = next(pair for pair in packed if len(pair[1]) == size)
    path.write_bytes(content)
    os.utime(path, (FUTURE_S, FUTURE_S))
    home.index()
    assert home.prompts(file.id) == [word.decode()]
    assert_same_as_fresh(home)


def test_plain_rollout_wins_over_its_compressed_twin(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    compress(file.write())
    file.turn("two", "second")
    file.write()
    (file.path.parent / f"{file.path.name}.zst.compress.12.1.tmp").write_bytes(b"half")
    report = home.index()
    assert (report.files_seen, report.files_parsed) == (1, 1)
    row = only_row(home)
    assert (row.session.id, [known.path for known in row.files]) == (file.id, [str(file.path)])
    assert home.prompts(file.id) == ["one", "two"]


def test_compressing_a_rollout_adds_nothing(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    file.turn("two", "second")
    read(home, file)
    before = home.manifest(file.id).entries
    path = compress(file.path)
    report = home.index()
    assert (report.new_objects, report.new_sessions) == (0, 0)
    row = only_row(home)
    assert (row.is_gone, [known.path for known in row.files]) == (False, [str(path)])
    assert home.manifest(file.id).entries == before
    assert_same_as_fresh(home)


def test_resumed_rollout_replaces_its_compressed_file(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    path = compress(file.write())
    home.index()
    path.unlink()
    file.turn("two", "second")
    file.write()
    assert home.index().new_objects == 1
    row = only_row(home)
    assert (row.is_gone, [known.path for known in row.files]) == (False, [str(file.path)])
    assert home.prompts(file.id) == ["one", "two"]
    assert_same_as_fresh(home)


def test_truncated_compressed_rollout_yields_its_readable_turns(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    noise = random.Random(1).randbytes(400_000).hex()
    file.turn("two", "second", "xxd /dev/random", noise)
    path = compress(file.write())
    path.write_bytes(path.read_bytes()[:-100_000])
    home.index()
    assert home.turns(file.id)[0] == Turn("one", steps=(message("first"),))


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.zst"])
def test_archived_rollout_is_the_same_session(home: Home, ending: str) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    read(home, file)
    archive = home.codex_sessions.parent / "archived_sessions"
    archive.mkdir()
    moved = archive / file.path.name
    file.path.rename(moved)
    if ending == ".jsonl.zst":
        moved = compress(moved)
    report = home.index()
    assert (report.new_objects, report.new_sessions) == (0, 0)
    row = only_row(home)
    assert (row.is_gone, [known.path for known in row.files]) == (False, [str(moved)])
    assert_same_as_fresh(home)


def test_rollout_id_after_the_thread_id_is_ignored(home: Home) -> None:
    file = home.codex()
    file.path = file.path.with_name(f"{file.path.stem}_{ROLLOUT_ID}.jsonl")
    add_user_item(file, "one")
    file.answer("first")
    file.write()
    home.index()
    assert {id: home.prompts(id) for id in home.rows()} == {file.id: ["one"]}


def test_reverted_thread_in_a_second_file_is_another_session(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    kept = len(file.records)
    file.turn("two", "second")
    file.write()
    file.path = file.path.with_name(f"{file.path.stem}_{ROLLOUT_ID}.jsonl")
    del file.records[kept:]
    file.turn("two, better said", "better")
    file.write()
    home.index()
    assert {row.base_id for row in home.rows().values()} == {file.id}
    assert sorted(home.prompts(id) for id in home.rows()) == [
        ["one", "two"],
        ["one", "two, better said"],
    ]


def test_folder_name_is_the_id_of_a_bare_rollout_file(home: Home) -> None:
    file = home.codex()
    file.path = home.codex_sessions / file.id / "rollout.jsonl"
    add_user_item(file, "one")
    file.write()
    home.index()
    assert list(home.rows()) == [file.id]


def test_repeated_session_meta_is_the_same_session(home: Home) -> None:
    file = home.codex()
    file.meta(cli_version="0.145.0")
    file.turn("one", "first")
    file.meta(cli_version="0.146.0", cwd="/somewhere/else")
    file.turn("two", "second")
    read(home, file)
    session = only_row(home).session
    assert (session.id, session.kind, session.forked_from) == (file.id, "main", "")
    assert session.versions == ("0.145.0", "0.146.0")
    assert (session.project, home.prompts(file.id)) == (file.cwd, ["one", "two"])
    cwds = [entry.cwd for entry in home.manifest(file.id).entries]
    assert cwds == [file.cwd, "/somewhere/else"]


@pytest.mark.parametrize("is_named", [True, False])
def test_fork_with_new_timestamps_shares_its_parents_turns(home: Home, is_named: bool) -> None:
    parent, fork = home.codex(1), home.codex(2)
    parent.meta()
    parent.turn("one", "first", "ls", "a.py")
    parent.turn("two", "second")
    fork.meta(**({"forked_from_id": parent.id} if is_named else {}))
    time = fork.tick()
    copies = [r for r in parent.records if isinstance(r, dict)]
    fork.records += [{**record, "timestamp": time} for record in copies]
    fork.turn("three", "third")
    parent.write()
    read(home, fork)
    assert home.prompts(fork.id) == ["one", "two", "three"]
    session = home.rows()[fork.id].session
    assert (session.id, session.kind, session.forked_from) == (fork.id, "main", parent.id)
    shared = [entry.turn for entry in home.manifest(parent.id).entries]
    assert [entry.turn for entry in home.manifest(fork.id).entries][:2] == shared


def test_second_session_meta_of_a_subagent_is_its_parents(home: Home) -> None:
    parent, child = home.codex(1), home.codex(2)
    parent.meta()
    parent.turn("one", "first")
    spawn = {"parent_thread_id": parent.id, "depth": 1, "agent_role": "explorer"}
    source = {"subagent": {"thread_spawn": spawn}}
    child.meta(source=source, session_id=parent.id, parent_thread_id=parent.id)
    child.records += parent.records
    child.turn("look around", "seen")
    parent.write()
    read(home, child)
    session = home.rows()[child.id].session
    assert (session.kind, session.parent, session.agent) == ("subagent", parent.id, "explorer")
    assert home.prompts(parent.id) == ["one"]


def test_start_time_comes_from_records_not_the_file_name(home: Home) -> None:
    file = home.codex()
    file.path = home.codex_sessions / "2026/09/22" / f"rollout-2026-09-22T07-00-00-{file.id}.jsonl"
    file.meta()
    start = file.now_ms + 1000
    file.turn("one", "first")
    read(home, file)
    assert only_row(home).session.started == start


def fill_bare_rollout(file: CodexFile) -> None:
    """Write the format of 2025-08: no payloads, and no time except in the header."""
    git = {"branch": "main", "commit_hash": "0" * 40}
    header = {"id": file.id, "timestamp": iso(file.now_ms), "instructions": None, "git": git}
    file.records.append(header)

    def item(type: str, **fields: Any) -> None:
        file.records += [{"type": type, "id": None, **fields}, {"record_type": "state"}]

    environment = "<environment_context>\nCurrent working directory: /home/sam/src/old\n"
    for role, kind, text in (
        ("user", "input_text", environment),
        ("user", "input_text", "list the files"),
        ("assistant", "output_text", "there are two"),
    ):
        item("message", role=role, content=[{"type": kind, "text": text}])
    arguments = json.dumps({"command": ["bash", "-lc", "ls"]})
    item("function_call", name="shell", arguments=arguments, call_id="call_1")
    output = json.dumps({"output": "a.py\n", "metadata": {"exit_code": 0}})
    file.records.append({"type": "function_call_output", "call_id": "call_1", "output": output})
    item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="gAA")


def test_bare_format_of_2025_08_is_read(home: Home) -> None:
    file = home.codex()
    fill_bare_rollout(file)
    read(home, file)
    call = ToolCall("shell", {"command": ["bash", "-lc", "ls"]}, ToolResult("a.py\n"))
    assert home.turns(file.id) == [
        Turn(
            "list the files",
            steps=(Message((Text("there are two"), call)), Message((Thinking("hm"),))),
        )
    ]
    session = only_row(home).session
    assert (session.id, session.project, session.branch) == (file.id, "/home/sam/src/old", "main")
    assert (session.bad_lines, session.unknown_types) == (0, {})


def test_bare_format_starts_at_its_header_time(home: Home) -> None:
    file = home.codex()
    fill_bare_rollout(file)
    read(home, file)
    assert only_row(home).session.started == file.now_ms
