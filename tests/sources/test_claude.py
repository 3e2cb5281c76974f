"""Peculiarities of Claude Code's transcripts, found by a census of real ones."""

import hashlib
import json
import os
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from ccgrep.config import make_config
from ccgrep.model import (
    BadSpot,
    Blob,
    Message,
    Note,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from ccgrep.ops import index
from ccgrep.sources.spills import Spills
from ccgrep.sources.values import usage_key
from tests.helpers import readers
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, encode, iso

MODEL = "claude-opus-4-6"


def read(home: Home, file: ClaudeFile) -> list[Turn]:
    file.write()
    home.index()
    return home.turns(file.id)


def message(*parts: Part | str) -> Message:
    return Message(tuple(Text(p) if isinstance(p, str) else p for p in parts), MODEL)


def bash_call(command: str, output: str) -> ToolCall:
    return ToolCall("Bash", {"command": command}, ToolResult(output))


def inject(file: ClaudeFile, text: str) -> None:
    """Type a prompt while the agent works, so that it is injected into the running turn."""
    file.meta("queue-operation", operation="enqueue", timestamp=file.tick(), content=text)
    file.meta("queue-operation", operation="remove", timestamp=file.tick())


def test_tool_results_in_user_records_do_not_begin_turns(home: Home) -> None:
    file = home.claude()
    file.prompt("why is it slow?")
    for command in ("top", "df", "free"):
        file.result(file.call("Bash", {"command": command}), f"output of {command}")
    file.answer("the disk is full")
    assert read(home, file) == [
        Turn(
            "why is it slow?",
            steps=(
                message(bash_call("top", "output of top")),
                message(bash_call("df", "output of df")),
                message(bash_call("free", "output of free")),
                message("the disk is full"),
            ),
        )
    ]


def test_prompts_typed_while_the_agent_works_begin_turns(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    inject(file, "two")
    file.answer("second")
    for prompt in ("three", [{"type": "text", "text": "four"}]):
        queued_command = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt"}
        file.add("attachment", attachment=queued_command)
        file.answer("more")
    assert read(home, file) == [
        Turn("one", steps=(message("first"),)),
        Turn("two", steps=(message("second"),)),
        Turn("three", steps=(message("more"),)),
        Turn("four", steps=(message("more"),)),
    ]


def test_injected_text_without_is_meta_becomes_notes(home: Home) -> None:
    file = home.claude()
    file.turn("fix it", "done")
    file.prompt("<command-name>/model</command-name>\n<command-args></command-args>")
    file.prompt("<local-command-stdout>Set model to opus</local-command-stdout>")
    file.prompt("<task-notification>task 7 is done</task-notification>")
    file.prompt([{"type": "text", "text": "[Request interrupted by user]"}])
    file.prompt("Unknown skill: deploy")
    assert read(home, file) == [
        Turn(
            "fix it",
            steps=(
                message("done"),
                Note("command", "/model"),
                Note("command", "Set model to opus"),
                Note("notification", "<task-notification>task 7 is done</task-notification>"),
                Note("interrupted", "[Request interrupted by user]"),
                Note("command", "Unknown skill: deploy"),
            ),
        )
    ]


def test_prompt_after_ide_context_begins_a_turn(home: Home) -> None:
    file = home.claude()
    opened = "<ide_opened_file>The user opened a.py</ide_opened_file>"
    file.prompt([{"type": "text", "text": opened}, {"type": "text", "text": "explain this"}])
    file.answer("it adds")
    file.turn("thanks", "welcome")
    assert read(home, file) == [
        Turn("explain this", steps=(Note("context", "The user opened a.py"), message("it adds"))),
        Turn("thanks", steps=(message("welcome"),)),
    ]


def test_message_split_over_records_counts_usage_once(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    ids = {"message_id": "msg_1", "request_id": "req_1"}
    partial = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 7}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    file.blocks(thought, {"type": "text", "text": "well"}, usage=partial, **ids)
    call_id = file.call("Bash", {"command": "ls"}, usage={**partial, "output_tokens": 40}, **ids)
    file.result(call_id, "a.py")

    assert read(home, file) == [
        Turn("go", steps=(message(Thinking("hm"), "well", bash_call("ls", "a.py")),))
    ]
    (entry,) = home.manifest(file.id).entries
    assert (entry.messages, entry.tools) == (2, 1)
    assert entry.usage == (Usage(usage_key("msg_1", "req_1"), MODEL, 100, 40, 7, None),)
    session = home.rows()[file.id].session
    assert (session.input_tokens, session.output_tokens) == (100, 40)


def test_subagents_in_every_location_name_their_parent(home: Home) -> None:
    main = home.claude()
    main.turn("ask the agents", "they know")
    main.is_sidechain = True
    main.last_uuid = None
    root = main.prompt("inside")["uuid"]
    main.answer("from inside")
    own: dict[str, Any] = {"session_id": main.session_id, "is_sidechain": True}
    beside = ClaudeFile(main.path.parent, 2, name="agent-1234abc", **own)
    beside.turn("beside", "from beside")
    below = home.subagent(main, "agent-a1b2c3d4", seed=3)
    below.turn("below", "from below")
    workflow = main.path.with_suffix("") / "subagents" / "workflows" / "wf_1"
    deeper = ClaudeFile(workflow, 4, name="agent-a5e6f7a8", **own)
    deeper.turn("deeper", "from deeper")
    for file in (main, beside, below, deeper):
        file.write()
    home.index()

    found = {
        id: (row.session.kind, row.session.parent, home.prompts(id))
        for id, row in home.rows().items()
    }
    assert found == {
        main.id: ("main", "", ["ask the agents"]),
        f"agent-{root[:8]}": ("subagent", main.id, ["inside"]),
        "agent-1234abc": ("subagent", main.id, ["beside"]),
        "agent-a1b2c3d4": ("subagent", main.id, ["below"]),
        "agent-a5e6f7a8": ("subagent", main.id, ["deeper"]),
    }


@pytest.mark.parametrize(
    ("name", "machine_prompt"),
    [
        ("agent-acompact-1a2b", "Your task is to create a detailed summary of it all"),
        ("agent-aprompt_suggestion-1a2b", "[SUGGESTION MODE: suggest what they might type]"),
        ("agent-aside_question-1a2b", "what does main.py do?"),
    ],
)
def test_worker_keeps_only_its_own_exchange(home: Home, name: str, machine_prompt: str) -> None:
    main = home.claude()
    main.turn("one", "first")
    main.turn("two", "second")
    worker = home.subagent(main, name)
    worker.turn("one", "first")
    worker.turn("two", "second")
    worker.prompt(machine_prompt)
    worker.answer("made by the worker")
    main.write()

    turns = read(home, worker)
    assert home.prompts(main.id) == ["one", "two"]
    assert turns == [Turn(steps=(Note("machine", machine_prompt), message("made by the worker")))]
    session = home.rows()[worker.id].session
    assert (session.kind, session.parent) == ("worker", main.id)


def test_progress_records_are_ignored(home: Home) -> None:
    file = home.claude(version="2.1.40")
    file.prompt("ask an agent")
    call_id = file.call("Task", {"prompt": "look"})
    inner = ClaudeFile(Path(), 9, session_id=file.session_id)
    inner.turn("look", "the agent's words")
    for record in inner.records:
        data = {"type": "agent_progress", "message": record, "prompt": "look"}
        file.add("progress", data=data, toolUseID="x", parentToolUseID=call_id)
    file.result(call_id, "found")
    assert read(home, file) == [
        Turn(
            "ask an agent",
            steps=(message(ToolCall("Task", {"prompt": "look"}, ToolResult("found"))),),
        )
    ]
    assert list(home.rows()) == [file.id]
    assert home.manifest(file.id).session.unknown_types == {}


def test_tool_use_result_field_is_ignored(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    shapes: list[dict[str, Any]] = [
        {"toolUseResult": {"stdout": "repeated", "stderr": "", "interrupted": False}},
        {"toolUseResult": "Error: repeated"},
        {"toolUseResult": [{"type": "text", "text": "repeated"}]},
        {"toolUseResult": None},
        {},
    ]
    for shape in shapes:
        file.result(file.call("Bash", {"command": "ls"}), "a.py", **shape)
    assert read(home, file) == [Turn("go", steps=(message(bash_call("ls", "a.py")),) * len(shapes))]


def persisted_output(path: str) -> str:
    return (
        f"<persisted-output>\nOutput too large (1.2MB). Full output saved to: {path}\n\n"
        "Preview (first 2KB):\nline 1\n...\n</persisted-output>"
    )


def test_spilled_outputs_are_read_from_their_files(home: Home) -> None:
    file = home.claude()
    folder = file.path.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b7x1.txt").write_text("line 1\nand the rest")
    (folder / "shot.png").write_bytes(b"\x89PNG")
    file.prompt("run both")
    file.result(file.call("Bash", {"command": "make"}), persisted_output(f"{folder}/b7x1.txt"))
    file.result(file.call("Bash", {"command": "shot"}), persisted_output(f"{folder}/shot.png"))
    image = Blob("image/png", 4, hashlib.sha256(b"\x89PNG").hexdigest())
    shot = ToolResult(persisted_output(f"{folder}/shot.png"), blobs=(image,))
    assert read(home, file) == [
        Turn(
            "run both",
            steps=(
                message(bash_call("make", "line 1\nand the rest")),
                message(ToolCall("Bash", {"command": "shot"}, shot)),
            ),
        )
    ]


def test_spilled_output_is_found_by_its_call_id(home: Home) -> None:
    file = home.claude()
    agent = home.subagent(file, "agent-a1b2c3d4")
    agent.prompt("go")
    call_id = agent.call("Bash", {"command": "make"})
    agent.result(call_id, persisted_output(rf"C:\gone\tool-results\{call_id}.txt"))
    folder = file.path.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / f"{call_id}.txt").write_text("everything")
    assert read(home, agent) == [Turn("go", steps=(message(bash_call("make", "everything")),))]


@pytest.mark.parametrize(
    "path",
    [
        "../../../etc/passwd",
        "/etc/passwd",
        "{folder}/../../../secret.txt",
        "{folder}/below/../../../../secret.txt",
        "{folder}/../../tool-results/../../secret.txt",
        "../tool-results/secret.txt",
        "{folder}/link.txt",
        "{folder}/pipe.txt",
        "{folder}/..",
        "{folder}/missing.txt",
    ],
)
def test_hostile_spill_path_is_not_followed(home: Home, path: str) -> None:
    file = home.claude()
    folder = file.path.with_suffix("") / "tool-results"
    (folder / "below").mkdir(parents=True)
    for place in (home.projects, home.projects.parent, home.projects / "tool-results"):
        place.mkdir(exist_ok=True)
        (place / "secret.txt").write_text("SECRET")
    (folder / "link.txt").symlink_to(home.projects / "secret.txt")
    os.mkfifo(folder / "pipe.txt")
    text = persisted_output(path.format(folder=folder))
    file.prompt("go")
    file.result(file.call("Bash", {"command": "make"}), text)
    assert read(home, file) == [Turn("go", steps=(message(bash_call("make", text)),))]


def answer_lines(file: ClaudeFile, *texts: str) -> list[bytes]:
    """Return answers as lines without newlines, to be damaged."""
    for text in texts:
        file.answer(text)
    lines = [encode(r)[:-1] for r in file.records[-len(texts) :] if isinstance(r, dict)]
    del file.records[-len(texts) :]
    return lines


def test_damaged_lines_lose_only_damaged_records(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    begin = len(b"".join(file.lines()))
    lost, spliced, first, second, after_nul, torn, last = answer_lines(
        file, "lost", "spliced", "first", "second", "after NUL", "torn", "last"
    )
    cut, tail = lost[:-90], torn[-60:]
    damaged = [cut + spliced, first + second, bytes(512) + after_nul, tail, last]
    for line in damaged:
        file.raw(line + b"\n")

    assert read(home, file) == [
        Turn("go", steps=tuple(map(message, ("spliced", "first", "second", "after NUL", "last"))))
    ]
    nul_at = begin + len(damaged[0]) + len(damaged[1]) + 2
    tail_at = nul_at + len(damaged[2]) + 1
    manifest = home.manifest(file.id)
    assert manifest.bad == (
        BadSpot(begin, len(cut), "not JSON"),
        BadSpot(nul_at, 512, "NUL bytes"),
        BadSpot(tail_at, len(tail) + 1, "not JSON"),
    )
    assert (manifest.session.bad_lines, manifest.session.is_complete) == (3, False)


def test_object_nested_in_a_truncated_record_is_not_a_record(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    inner = ClaudeFile(Path(), 9)
    inner.prompt("typed by nobody")
    data = {"type": "agent_progress", "message": inner.records[0], "prompt": "and a tail"}
    file.add("progress", data=data)
    whole = file.records.pop()
    assert isinstance(whole, dict)
    (answer,) = answer_lines(file, "done")
    cut = encode(whole)[: encode(whole).index(b"and a tail")]
    file.raw(cut + answer + b"\n")
    assert read(home, file) == [Turn("go", steps=(message("done"),))]
    assert home.manifest(file.id).session.bad_lines == 1


def test_unfinished_last_line_is_not_a_bad_line(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    (answer,) = answer_lines(file, "half of it")
    file.raw(answer[:-30])
    assert read(home, file) == [Turn("go")]
    assert home.manifest(file.id).bad == ()
    file.raw(answer[-30:] + b"\n")
    file.append()
    home.index()
    assert home.turns(file.id) == [Turn("go", steps=(message("half of it"),))]
    assert_same_as_fresh(home)


@pytest.mark.parametrize("separator", ["\u0085", "\u2028", "\u2029", "\u001c", "\v", "\r"])
def test_only_a_newline_ends_a_record(home: Home, separator: str) -> None:
    file = home.claude()
    file.turn(f"one{separator}two", f"three{separator}four")
    expected = [Turn(f"one{separator}two", steps=(message(f"three{separator}four"),))]
    assert read(home, file) == expected
    assert home.manifest(file.id).bad == ()


def test_lone_surrogates_are_replaced(home: Home) -> None:
    file = home.claude()
    file.turn("cut \ud83d here", "\udc00 and \ud83d\ude00")
    file.turn("next", "as usual")
    # Claude Code escapes each half of a pair.
    file.records = [json.dumps(record).encode() + b"\n" for record in file.records]
    assert read(home, file) == [
        Turn("cut \ufffd here", steps=(message("\ufffd and \U0001f600"),)),
        Turn("next", steps=(message("as usual"),)),
    ]
    assert home.manifest(file.id).bad == ()
    assert home.rows()[file.id].session.title == "cut \ufffd here"


def test_records_out_of_time_order_give_correct_time_ranges(home: Home) -> None:
    file = home.claude()
    start = file.now_ms
    times = {"later": 60, "answer": 90, "reply": 50, "earlier": 10, "last reply": 30}
    file.meta("permission-mode", permissionMode="default")
    for text, seconds in times.items():
        time = iso(start + seconds * 1000)
        if text in ("later", "earlier"):
            file.prompt(text, timestamp=time)
        else:
            file.answer(text, timestamp=time)
    file.meta("last-prompt", lastPrompt="earlier")
    read(home, file)
    manifest = home.manifest(file.id)
    assert home.prompts(file.id) == ["later", "earlier"]
    spans = [(entry.started, entry.ended) for entry in manifest.entries]
    assert spans == [(start + 50_000, start + 90_000), (start + 10_000, start + 30_000)]
    session = manifest.session
    assert (session.started, session.ended) == (start + 10_000, start + 90_000)


def test_records_off_the_parent_chain_are_kept(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    before = file.last_uuid
    file.turn("two", "second")
    file.last_uuid = before
    file.prompt("two, better said")
    ids = {"message_id": "msg_1", "request_id": "req_1"}
    left = file.call("Bash", {"command": "left"}, **ids)
    fork = file.last_uuid
    right = file.call("Bash", {"command": "right"}, **ids)
    file.result(right, "r")
    file.result(left, "l", parentUuid=fork)
    assert read(home, file) == [
        Turn("one", steps=(message("first"),)),
        Turn("two", steps=(message("second"),)),
        Turn("two, better said", steps=(message(bash_call("left", "l"), bash_call("right", "r")),)),
    ]
    rolled_back = [entry.is_rolled_back for entry in home.manifest(file.id).entries]
    assert rolled_back == [False, True, False]


def test_fork_shares_the_turns_it_copied(home: Home) -> None:
    parent = home.claude()
    parent.turn("one", "first")
    parent.turn("two", "second")
    fork = parent.fork(parent.path.parent, records=4, seed=2)
    parent.turn("three", "third")
    fork.turn("other three", "other third")
    parent.write()
    read(home, fork)
    assert home.prompts(parent.id) == ["one", "two", "three"]
    assert home.prompts(fork.id) == ["one", "two", "other three"]
    ours, theirs = (
        [entry.turn for entry in home.manifest(file.id).entries] for file in (parent, fork)
    )
    assert ours[:2] == theirs[:2]
    assert ours[2] != theirs[2]


def test_records_with_another_session_id_belong_to_the_file(home: Home) -> None:
    file = home.claude()
    own_id = file.session_id
    file.session_id = file.uuid()
    file.turn("before the resume", "first")
    file.session_id = own_id
    file.turn("after it", "second")
    read(home, file)
    assert {id: home.prompts(id) for id in home.rows()} == {
        file.id: ["before the resume", "after it"]
    }


def test_moved_transcript_is_the_same_session(home: Home) -> None:
    file = home.claude(slug="-home-sam-src-shop--worktree")
    file.turn("one", "first")
    old_path = file.write()
    home.index()
    file.meta("relocated", relocatedCwd="/home/sam/src/shop")
    file.path = home.projects / "-home-sam-src-shop" / old_path.name
    file.write()
    old_path.unlink()
    report = home.index()
    assert (report.new_objects, report.new_sessions) == (0, 0)
    (row,) = home.rows().values()
    assert (row.session.id, row.is_gone) == (file.id, False)
    assert [known.path for known in row.files] == [str(file.path)]
    assert_same_as_fresh(home)


def test_copied_transcript_is_the_same_session(home: Home) -> None:
    file = home.claude(slug="-mnt-c-src-shop")
    file.turn("one", "first")
    first = file.write()
    file.path = home.projects / "C--src-shop" / first.name
    second = file.write()
    assert home.index().new_objects == 1
    (row,) = home.rows().values()
    assert row.session.id == file.id
    assert sorted(known.path for known in row.files) == sorted(map(str, (first, second)))


def test_continued_session_names_its_successor(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first", "ls", "a.py")
    file.meta("continued-in", continuedInSessionId="0f0e0d0c-0000-4000-8000-000000000000")
    read(home, file)
    session = home.rows()[file.id].session
    assert session.continued_in == "0f0e0d0c-0000-4000-8000-000000000000"
    assert session.unknown_types == {}


def test_project_comes_from_the_cwd_not_the_folder_name(home: Home) -> None:
    cwds = {1: "/home/sam/src/my-app", 2: "/home/sam/src/my/app", 3: "/home/sam/src/прог рамм"}
    slugs = {1: "-home-sam-src-my-app", 2: "-home-sam-src-my-app", 3: "-home-sam-src----------"}
    for seed, cwd in cwds.items():
        file = home.claude(seed, slug=slugs[seed], cwd=cwd)
        file.turn("hello", "hi")
        file.cwd = "/elsewhere"
        file.turn("and now", "there")
        file.write()
    home.index()
    projects = [row.session.project for row in home.rows().values()]
    assert sorted(projects) == sorted(cwds.values())


def test_summary_of_another_session_is_not_the_title(home: Home) -> None:
    file = home.claude(version="2.0.30")
    file.meta("summary", summary="about something else", leafUuid=file.uuid())
    file.turn("fix the parser", "done")
    file.write()
    home.index()
    assert home.rows()[file.id].session.title == "fix the parser"
    file.meta("summary", summary="Parser fixed", leafUuid=file.last_uuid)
    file.meta("summary", summary="about yet another", leafUuid=file.uuid())
    read(home, file)
    assert home.rows()[file.id].session.title == "Parser fixed"


def test_last_ai_title_wins(home: Home) -> None:
    file = home.claude()
    file.meta("ai-title", aiTitle="First guess")
    file.turn("fix the parser", "done")
    for title in ("First guess", "Better guess", "Better guess"):
        file.meta("ai-title", aiTitle=title)
    read(home, file)
    assert home.rows()[file.id].session.title == "Better guess"


def test_summaries_become_notes(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    file.add("system", subtype="away_summary", content="They did one thing.")
    metadata = {"trigger": "auto", "preTokens": 150_000}
    file.last_uuid = None
    file.add("system", subtype="compact_boundary", content="", compactMetadata=metadata)
    paraphrase = "This session is being continued from a previous conversation. All of it."
    file.prompt(paraphrase, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    file.turn("two", "second")
    assert read(home, file) == [
        Turn(
            "one",
            steps=(
                message("first"),
                Note("summary", "They did one thing."),
                Note("summary", paraphrase),
            ),
        ),
        Turn("two", steps=(message("second"),)),
    ]


def test_signatures_and_base64_are_not_stored(home: Home) -> None:
    file = home.claude(version="2.1.220")
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORyBhbmQgc28gb24="}
    file.prompt([{"type": "image", "source": source}, {"type": "text", "text": "what is this?"}])
    file.blocks(
        {"type": "thinking", "thinking": "", "signature": "RXJRQkNrZ0lCQg=="},
        {"type": "text", "text": "a picture"},
    )
    content = [{"type": "text", "text": "taken"}, {"type": "image", "source": source}]
    file.result(file.call("Screenshot", {}), content)
    blob = Blob("image/png", 14, hashlib.sha256(b"\x89PNG and so on").hexdigest())
    assert read(home, file) == [
        Turn(
            "what is this?",
            attached=(blob,),
            steps=(
                message("a picture"),
                message(ToolCall("Screenshot", {}, ToolResult("taken", blobs=(blob,)))),
            ),
        )
    ]


# What Claude Code 2.1.197 writes.


def read_record_by_record(home: Home, file: ClaudeFile) -> list[Turn]:
    """Return the turns, after checking that reading record by record yields the same."""
    lines = file.lines()
    data, cuts = b"".join(lines), list(accumulate(map(len, lines)))
    whole, in_pieces = readers.read("claude", data), readers.read_in_pieces("claude", data, cuts)
    assert readers.without_progress(in_pieces) == readers.without_progress(whole)
    return read(home, file)


def queue(file: ClaudeFile, operation: str, **fields: Any) -> None:
    file.meta("queue-operation", operation=operation, timestamp=file.tick(), **fields)


def attach_queued(file: ClaudeFile, text: str) -> None:
    file.add(
        "attachment",
        attachment={"type": "queued_command", "prompt": text, "commandMode": "prompt"},
    )


@pytest.mark.parametrize("order", ["removed first", "attached first", "only the first attached"])
def test_two_queued_prompts_keep_their_order(home: Home, order: str) -> None:
    file = home.claude()
    file.prompt("one")
    call = file.call("Bash", {"command": "sleep 8"})
    for text in ("two", "three", "four"):
        queue(file, "enqueue", content=text)
    if order == "removed first":
        queue(file, "remove")
        queue(file, "remove")
    file.result(call, "slept")
    attach_queued(file, "two")
    if order != "removed first":
        queue(file, "remove")
        queue(file, "remove")
    if order != "only the first attached":
        attach_queued(file, "three")
    file.answer("all done")
    assert read_record_by_record(home, file) == [
        Turn("one", steps=(message(bash_call("sleep 8", "slept")),)),
        Turn("two"),
        Turn("three", steps=(message("all done"),)),
    ]


def write_answer_before_prompt(file: ClaudeFile, prompt: str, after: str = "") -> None:
    """Add an answer, then its prompt with an attachment, as after an answer within 0.2 s."""
    file.prompt(prompt)
    if after:
        file.prompt(after)
    file.add("attachment", attachment={"type": "skill_listing", "content": "none"})
    written, file.records = file.records, []
    file.answer("done at once")
    file.add("system", subtype="turn_duration", durationMs=20)
    file.records += written


def test_answer_before_its_prompt_belongs_to_it(home: Home) -> None:
    file = home.claude()
    write_answer_before_prompt(file, "be quick")
    file.turn("thanks", "welcome")
    assert read_record_by_record(home, file) == [
        Turn("be quick", steps=(message("done at once"),)),
        Turn("thanks", steps=(message("welcome"),)),
    ]
    assert not any(entry.is_rolled_back for entry in home.manifest(file.id).entries)


def test_notes_of_a_late_prompt_come_before_its_answer(home: Home) -> None:
    file = home.claude()
    write_answer_before_prompt(
        file, "<bash-input>ls</bash-input>", "<bash-stdout>a.py</bash-stdout>"
    )
    file.answer("anything else?")
    assert read_record_by_record(home, file) == [
        Turn(
            "ls",
            steps=(Note("command", "a.py"), message("done at once"), message("anything else?")),
        )
    ]


@pytest.mark.parametrize("fields", [{}, {"parentUuid": None}])
def test_prompt_after_an_orphan_answer_begins_a_turn(home: Home, fields: dict[str, Any]) -> None:
    file = home.claude()
    file.turn("its record is lost", "an answer")
    del file.records[0]
    file.prompt("next", **fields)
    file.answer("the next answer")
    assert read_record_by_record(home, file) == [
        Turn(steps=(message("an answer"),)),
        Turn("next", steps=(message("the next answer"),)),
    ]


def test_local_command_shows_what_was_typed(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    name = "<command-name>/rename</command-name>\n<command-message>rename</command-message>"
    args = "<command-args>My lizard session</command-args>"
    file.add("system", subtype="local_command", content=f"{name}\n            {args}")
    output = "<local-command-stdout>Session renamed to: My lizard session</local-command-stdout>"
    file.add("system", subtype="local_command", content=output)
    assert read(home, file) == [
        Turn(
            "hello",
            steps=(
                message("hi"),
                Note("command", "/rename My lizard session"),
                Note("command", "Session renamed to: My lizard session"),
            ),
        )
    ]


def test_no_response_requested_is_not_an_error(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.answer("No response requested.", model="<synthetic>")
    file.answer("API Error: 529", model="<synthetic>", isApiErrorMessage=True)
    assert read(home, file) == [
        Turn("hello", steps=(message("hi"), Note("error", "API Error: 529")))
    ]


def read_usage(home: Home, file: ClaudeFile) -> list[Usage]:
    read(home, file)
    return [usage for entry in home.manifest(file.id).entries for usage in entry.usage]


def test_cache_writes_are_kept_by_lifetime(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    ids = {"message_id": "msg_1", "request_id": "req_1"}
    for minutes, hour in ((100, 0), (100, 20)):
        created = {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour}
        usage = {"cache_creation_input_tokens": minutes + hour, "cache_creation": created}
        file.answer(f"part {hour}", usage=usage, **ids)
    expected = Usage(usage_key("msg_1", "req_1"), MODEL, None, None, None, 120, 100, 20)
    assert read_usage(home, file) == [expected]


def test_counts_beside_the_message_of_an_early_version_are_read(home: Home) -> None:
    file = home.claude(version="0.2.9")
    file.prompt("go")
    early = {"usage": None, "costUSD": 0.25, "inputTokens": 30, "outputTokens": 4}
    for text in ("first", "second"):
        file.answer(text, message_id="msg_1", request_id="req_1", **early)
    file.answer("third", message_id="msg_2", request_id="req_2", **early)
    assert read_usage(home, file) == [
        Usage(usage_key("msg_1", "req_1"), MODEL, 30, 4),
        Usage(usage_key("msg_2", "req_2"), MODEL, 30, 4),
    ]
    assert home.rows()[file.id].session.cost_usd == 0.5


def test_noise_of_today_is_ignored(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    kinds = (
        "api-request api-request-blob api-request-resumed api-request-shape tools-used atis-latch"
        " artifact-autoreact-ledger artifact-comment-monitor attribution-snapshot"
        " content-replacement data-flow-incomplete data-flow-records derived-from dev-mods"
        " ended-by-model history-suppression memory-mode observer-ref repl-mode resume-head-vouch"
        " session-owner"
    )
    for kind in kinds.split():
        file.meta(kind, content="noise", message={"role": "user", "content": "noise"})
    for kind in (
        "bash_output_audience_note",
        "batching_reminder_sent",
        "silent_turn_reminder",
        "remote_session_change",
        "prompt_snapshot",
    ):
        file.add("attachment", attachment={"type": kind, "content": "noise", "prompt": "noise"})
    assert read(home, file) == [Turn("hello", steps=(message("hi"),))]
    assert home.rows()[file.id].session.unknown_types == {}


# Outputs of background commands, which are not in the transcript.

LAUNCHED = (
    "Command running in background with ID: b1x2. Output is being written to: {}. "
    "You will be notified when it completes."
)


@pytest.fixture
def temp_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "tmp"
    directory.mkdir()
    return directory


def index_with(home: Home, temp_dir: Path, **options: Any) -> None:
    config = make_config({**home.environment, "CLAUDE_CODE_TMPDIR": str(temp_dir)})
    index.index(config, **options)


def launch(file: ClaudeFile, path: Path | str) -> str:
    """Add a command that runs in the background, and return the result that names its output."""
    call_id = file.call("Bash", {"command": "serve", "run_in_background": True})
    text = LAUNCHED.format(path)
    file.result(call_id, text)
    return text


def notify(file: ClaudeFile) -> None:
    """Add the notification that the last command ended."""
    (call_id,) = re.findall("toolu_[0-9a-f]+", str(file.records[1]))[:1]
    text = f"<task-notification>\n<tool-use-id>{call_id}</tool-use-id>\n</task-notification>"
    attachment = {"type": "queued_command", "prompt": text, "commandMode": "task-notification"}
    file.add("attachment", attachment=attachment)


def output_path(temp_dir: Path, file: ClaudeFile, slug: str = "") -> Path:
    top = temp_dir / f"claude-{os.getuid()}" / (slug or file.path.parent.name)
    path = top / file.session_id / "tasks" / "b1x2.output"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def outputs(home: Home, id: str) -> list[str]:
    calls = [call for turn in home.turns(id) for call in turn.calls()]
    return [call.result.text if call.result else "" for call in calls]


@pytest.mark.parametrize("slug", ["", "-another-project"])
def test_output_of_a_background_command_is_archived(home: Home, temp_dir: Path, slug: str) -> None:
    file = home.claude()
    path = output_path(temp_dir, file, slug)
    path.write_text("dingo 1\ndingo 2\n")
    file.prompt("start the server")
    text = launch(file, path)
    notify(file)
    file.answer("it runs")
    file.write()
    index_with(home, temp_dir)
    assert outputs(home, file.id) == [f"{text}\ndingo 1\ndingo 2"]
    found = home.json("dingo 2", "-F", "-t", "tool")["results"]
    assert [(hit["session_id"], hit["turn"]) for hit in found] == [(file.id, 0)]


def test_output_grows_until_its_command_ends(home: Home, temp_dir: Path) -> None:
    file = home.claude()
    path = output_path(temp_dir, file)
    file.prompt("start the server")
    text = launch(file, path)
    for number in range(3):
        path.write_text(f"dingo {number}")
        file.turn(f"prompt {number}", "done")
        file.append()
        index_with(home, temp_dir)
        assert outputs(home, file.id) == [f"{text}\ndingo {number}"]
    notify(file)
    path.write_text("dingo at last")
    file.turn("and now?", "it ended")
    file.turn("thanks", "welcome")
    file.append()
    index_with(home, temp_dir)
    path.write_text("written by another command")
    file.turn("again", "and again")
    file.append()
    index_with(home, temp_dir)
    assert outputs(home, file.id) == [f"{text}\ndingo at last"]


@pytest.mark.parametrize("is_full", [False, True])
def test_archived_output_survives_its_file(home: Home, temp_dir: Path, is_full: bool) -> None:
    file = home.claude()
    path = output_path(temp_dir, file)
    path.write_text("dingo")
    spilled = file.path.with_suffix("") / "tool-results" / "b7x1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text("everything")
    file.prompt("start the server")
    text = launch(file, path)
    file.result(file.call("Bash", {"command": "make"}), persisted_output(str(spilled)))
    file.write()
    index_with(home, temp_dir)
    path.unlink()
    spilled.unlink()
    notify(file)
    file.answer("it ended")
    file.append()
    index_with(home, temp_dir, is_full=is_full)
    file.turn("thanks", "welcome")
    file.append()
    index_with(home, temp_dir, is_full=is_full)
    assert outputs(home, file.id) == [f"{text}\ndingo", "everything"]
    assert home.rows().keys() == {file.id}


@pytest.mark.parametrize("attack", ["path", "link", "folder link", "pipe", "other user", "parent"])
def test_hostile_output_path_is_not_followed(
    home: Home, temp_dir: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.claude()
    secret = temp_dir / "secret.output"
    secret.write_text("SECRET")
    path = output_path(temp_dir, file)
    named = str(path)
    if attack == "path":
        named = f"{temp_dir}/claude-{os.getuid()}/a/b/tasks/../../../../secret.output"
    elif attack == "parent":
        named = f"{temp_dir}/claude-{os.getuid()}/../tasks/secret.output"
        (temp_dir / "tasks").mkdir()
        (temp_dir / "tasks" / "secret.output").write_text("SECRET")
    elif attack == "link":
        path.symlink_to(secret)
    elif attack == "pipe":
        os.mkfifo(path)
    elif attack == "folder link":
        path.parent.rmdir()
        (temp_dir / "b1x2.output").write_text("SECRET")
        path.parent.symlink_to(temp_dir)
    else:
        path.write_text("SECRET")
        uid = os.getuid()
        top = temp_dir / f"claude-{uid}"
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)
        top.rename(temp_dir / f"claude-{uid + 1}")
    file.prompt("go")
    text = launch(file, named)
    file.write()
    config = make_config({**home.environment, "CLAUDE_CODE_TMPDIR": str(temp_dir)})
    spills = Spills(str(file.path), str(home.projects.parent), config.temp_dirs)
    assert spills.resolve(text, "toolu_1") == (text, [])
    assert spills.lacks_output


@pytest.mark.parametrize(("name", "is_prompt"), [("/compact", False), ("/review", True)])
def test_command_of_the_client_with_arguments_begins_no_turn(
    home: Home, name: str, is_prompt: bool
) -> None:
    file = home.claude()
    file.turn("one", "first")
    text = f"<command-name>{name}</command-name><command-args>keep the factor</command-args>"
    file.prompt(text)
    file.turn("two", "second")
    file.write()
    home.index()
    middle = [f"{name} keep the factor"] if is_prompt else []
    assert home.prompts(file.id) == ["one", *middle, "two"]


def test_text_of_an_interrupted_answer_is_the_agents(home: Home) -> None:
    file = home.claude()
    file.prompt("find it")
    file.answer("Found it, in", model="<synthetic>", isApiErrorMessage=False)
    file.answer("API Error: 529", model="<synthetic>", isApiErrorMessage=True)
    file.write()
    home.index()
    (turn,) = home.turns(file.id)
    steps = (Message((Text("Found it, in"),)), Note("error", "API Error: 529"))
    assert turn == Turn("find it", steps=steps)
    assert home.rows()[file.id].session.models == ()
