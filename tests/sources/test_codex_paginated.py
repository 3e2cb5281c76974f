"""What Codex writes since 0.151: code mode, rewinds, sub-agents with copied history."""

import json
from typing import Any

import pytest

from ccgrep.model import Message, Note, Text, ToolCall, ToolResult, Turn
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.readers import read, read_in_pieces, without_progress
from tests.helpers.transcripts import PaginatedCodexFile

MODEL = "gpt-5-codex"
PATH = "/home/sam/src/api/notes.md"
SCRIPT = 'text((await tools.exec_command({cmd: "pytest -q"})).output)'


def command_item(command: str, output: str, exit_code: int = 0) -> dict[str, Any]:
    return {
        "type": "CommandExecution",
        "command": ["/bin/bash", "-lc", command],
        "cwd": "file:///home/sam/src/api",
        "status": "completed" if exit_code == 0 else "failed",
        "aggregated_output": output,
        "exit_code": exit_code,
    }


def change_item(path: str, **change: str) -> dict[str, Any]:
    return {"type": "FileChange", "changes": {path: change}, "stdout": f"Updated {path}\n"}


def turns(home: Home, file: PaginatedCodexFile) -> list[Turn]:
    file.write()
    home.index()
    return home.turns(file.id)


def message(*parts: Text | ToolCall) -> Message:
    return Message(parts, MODEL)


@pytest.fixture
def code_mode(home: Home) -> Home:
    """A session that ran a failing and a passing command, and changed a file, in code mode."""
    file = home.paginated_codex()
    file.meta()
    file.prompt("make it pass")
    failed = command_item("pytest -q", "1 failed: kookaburra\n", 1)
    file.script(SCRIPT, "1 failed: kookaburra\n", failed)
    diff = "@@ -1,2 +1,2 @@\n title\n-wrong line\n+right line\n"
    file.script(
        'await Promise.all([tools.apply_patch("..."), tools.exec_command({cmd: "git add -A"})])',
        "{}",
        change_item(PATH, type="update", unified_diff=diff),
        {**command_item("git add -A", ""), "cwd": "file:///home/sam/other%20dir"},
    )
    file.answer("It passes now.")
    file.write()
    home.index()
    return home


def test_commands_and_edits_of_code_mode_are_tool_calls(code_mode: Home) -> None:
    (id,) = code_mode.rows()
    (turn,) = code_mode.turns(id)
    script, command, second, patch, add = turn.calls()
    assert (script.name, script.input) == ("exec", SCRIPT)
    result = ToolResult("1 failed: kookaburra\n", is_error=True)
    assert command == ToolCall("exec_command", {"cmd": "pytest -q"}, result)
    assert second.name == "exec"
    assert (patch.name, patch.input["changes"][0]["path"]) == ("apply_patch", PATH)
    assert add.input == {"cmd": "git add -A", "workdir": "/home/sam/other dir"}


def test_show_search_blame_and_stats_know_the_calls_of_code_mode(code_mode: Home) -> None:
    (id,) = code_mode.rows()
    shown = code_mode.run("show", id, "--tools").stdout
    assert "  [exec_command] pytest -q (failed)\n" in shown
    assert f"  [apply_patch] {PATH}\n" in shown
    assert code_mode.run("-t", "tool", "kookaburra", "--no-refresh").returncode == 0
    assert code_mode.run("pass", "--tool", "exec_command", "--no-refresh").returncode == 0
    assert code_mode.run("blame", "notes.md").stdout.count(":0:") == 1
    bash = code_mode.json("stats", "bash")
    used = [(row["base"], row["sub"], row["errors"]) for row in bash["commands"]]
    assert sorted(used) == [("git", "add", 0), ("pytest", None, 1)]
    tools = {row["tool"]: row for row in code_mode.json("stats", "tools")["tools"]}
    assert (tools["exec_command"]["calls"], tools["exec_command"]["errors"]) == (2, 1)


def test_blame_finds_the_line_that_a_change_of_code_mode_wrote(home: Home) -> None:
    target = home.directory / "notes.md"
    target.write_text("title\nright line\n")
    file = home.paginated_codex(cwd=str(home.directory))
    file.meta()
    file.prompt("write the line")
    diff = "@@ -1,2 +1,2 @@\n title\n-wrong line\n+right line\n"
    patch = f"*** Begin Patch\n*** Update File: notes.md\n{diff}*** End Patch"
    change = change_item(str(target), type="update", unified_diff=diff)
    file.script(f"await tools.apply_patch(`{patch}`)", "{}", change)
    file.answer("written")
    file.write()
    home.index()
    done = home.run("blame", "notes.md", "-L", "2", cwd=str(home.directory))
    assert done.stdout.startswith(f"{file.id[:8]}:0:"), done.stderr
    (found,) = home.json("blame", str(target))["turns"]
    assert found["files"] == [{"path": str(target), "actions": ["edited"]}]


def test_own_calls_in_code_mode_are_excluded_from_results(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    for number, (code, item) in enumerate(
        [
            (
                'text(await tools.mcp__ccgrep__search_conversations({query: "lyrebird"}))',
                {
                    "type": "McpToolCall",
                    "server": "ccgrep",
                    "tool": "search_conversations",
                    "arguments": {"query": "lyrebird"},
                    "result": {"content": [{"type": "text", "text": "lyrebird found"}]},
                },
            ),
            (
                'text((await tools.exec_command({cmd: "ccgrep lyrebird"})).output)',
                command_item("ccgrep lyrebird", "lyrebird found"),
            ),
        ]
    ):
        file.prompt(f"look for it, {number}")
        file.script(code, "lyrebird found", item)
        file.answer("searched")
    file.prompt("mention a lyrebird")
    file.answer("mentioned")
    file.write()
    home.index()
    inside = {"CODEX_THREAD_ID": "another"}
    search = ("-F", "lyrebird", "-t", "tool")
    assert len(home.run(*search).stdout.splitlines()) == 2
    assert home.run(*search, env=inside).stdout == ""
    assert home.run("-F", "lyrebird", env=inside).stdout.startswith(f"{file.id[:8]}:2:")


def test_item_of_an_ordinary_call_is_ignored(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("run it")
    arguments = json.dumps({"cmd": "sleep 20"})
    file.item("function_call", name="exec_command", arguments=arguments, call_id="call_1")
    file.item("function_call_output", call_id="call_1", output="aborted by user")
    file.event("turn_aborted", reason="interrupted")
    file.prompt("go on")
    file.completed(**command_item("sleep 20", "", -1), id="call_1")
    file.answer("fine")
    aborted = ToolCall("exec_command", {"cmd": "sleep 20"}, ToolResult("aborted by user"))
    assert turns(home, file) == [
        Turn("run it", steps=(message(aborted), Note("interrupted", "Turn aborted: interrupted"))),
        Turn("go on", steps=(message(Text("fine")),)),
    ]


def test_inherited_records_of_a_subagent_are_not_its_turns(home: Home) -> None:
    parent = home.paginated_codex(1)
    parent.meta()
    parent.prompt("the parent's prompt")
    parent.answer("the parent's answer")
    parent.write()
    child = home.paginated_codex(2)
    inherited = len(parent.records)
    child.meta(
        parent_thread_id=parent.id,
        agent_path="/root/count_lines",
        agent_nickname="Darwin",
        subagent_history_start_ordinal=inherited + 1,
        source={"subagent": {"thread_spawn": {"parent_thread_id": parent.id, "depth": 1}}},
    )
    context = child.records.pop()
    assert isinstance(context, dict)
    copies = [record for record in parent.records if isinstance(record, dict)]
    child.records += [{k: v for k, v in r.items() if k != "ordinal"} for r in copies]
    child.records.append(context)
    header = "Message Type: NEW_TASK\nTask name: /root/count_lines\nSender: /root\nPayload:\n"
    task = {"type": "encrypted_content", "encrypted_content": "gAAAAABp"}
    content = [{"type": "input_text", "text": header}, task]
    child.item("agent_message", author="/root", recipient="/root/count_lines", content=content)
    child.answer("Seven lines.")
    note = Note("notification", header.removesuffix("\nPayload:\n"))
    assert turns(home, child) == [Turn(steps=(note, message(Text("Seven lines."))))]
    session = home.rows()[child.id].session
    assert (session.title, session.parent, session.turns) == ("count_lines", parent.id, 1)
    assert home.run("-F", "the parent's answer", "-l").stdout == f"{parent.id[:8]}\n"


def test_task_that_is_not_encrypted_is_the_prompt_of_a_subagent(home: Home) -> None:
    file = home.paginated_codex()
    file.meta(agent_path="/root/count_lines", parent_thread_id="01a1")
    header = "Message Type: NEW_TASK\nTask name: /root/count_lines\nSender: /root\nPayload:\n"
    for task in ("count the lines", "and the words"):
        hidden = {"type": "encrypted_content", "encrypted_content": task}
        content = [{"type": "input_text", "text": header}, hidden]
        file.item("agent_message", author="/root", recipient="/root/a", content=content)
        file.answer("done")
    assert [turn.prompt for turn in turns(home, file)] == ["count the lines", "and the words"]


def rewound(home: Home) -> tuple[PaginatedCodexFile, PaginatedCodexFile]:
    first = home.paginated_codex()
    first.meta()
    first.prompt("one")
    first.answer("first")
    first.lines()
    undone = first.next_ordinal
    first.prompt("two")
    first.answer("second")
    second = first.rewind(undone, seed=7)
    second.prompt("two, better said")
    second.answer("better")
    return first, second


def state(home: Home) -> dict[str, list[tuple[str, bool]]]:
    found = {}
    for id in home.rows():
        marks = [entry.is_rolled_back for entry in home.manifest(id).entries]
        found[id] = list(zip(home.prompts(id), marks, strict=True))
    return found


@pytest.mark.parametrize("is_indexed_between", [False, True])
def test_rewound_session_is_one_session_with_rolled_back_turns(
    home: Home, is_indexed_between: bool
) -> None:
    first, second = rewound(home)
    first.write()
    if is_indexed_between:
        home.index()
    second.write()
    home.index()
    expected = [("one", False), ("two", True), ("two, better said", False)]
    assert state(home) == {first.id: expected}
    second.prompt("three")
    second.answer("third")
    second.append()
    assert home.index().new_objects == 1
    assert state(home) == {first.id: [*expected, ("three", False)]}
    assert home.index().files_parsed == 0
    assert home.run("show", f"{first.id[:8]}:2").stdout.count("two, better said") == 1
    assert_same_as_fresh(home)


def test_second_rewind_past_the_first_keeps_one_session(home: Home) -> None:
    first, second = rewound(home)
    third = first.rewind(2, seed=8)
    third.prompt("zero")
    third.answer("none")
    for file in (first, second, third):
        file.write()
    home.index()
    order = [("one", True), ("two", True), ("two, better said", True), ("zero", False)]
    assert state(home) == {first.id: order}
    assert_same_as_fresh(home)


def test_rollout_before_a_rewind_may_still_grow(home: Home) -> None:
    first, second = rewound(home)
    first.write()
    second.write()
    home.index()
    before = state(home)
    first.completed(**command_item("sleep 20", "", -1), id="call_1")
    first.append()
    home.index()
    assert state(home) == before
    assert home.index().files_parsed == 0
    assert_same_as_fresh(home)


def test_deleted_rewound_session_stays_one_session(home: Home) -> None:
    first, second = rewound(home)
    first.write()
    second.write()
    home.index()
    before = state(home)
    first.path.unlink()
    second.path.unlink()
    home.index()
    assert state(home) == before
    assert home.rows()[first.id].is_gone


def test_fork_marks_the_turns_it_inherited(home: Home) -> None:
    parent, fork = home.codex(1), home.codex(2)
    parent.meta()
    parent.turn("one", "first")
    parent.turn("two", "second")
    fork.meta(forked_from_id=parent.id)
    fork.records += [record for record in parent.records if isinstance(record, dict)]
    fork.turn("three", "third")
    parent.write()
    fork.write()
    home.index()
    shown = home.json("show", fork.id)
    assert [turn["is_inherited"] for turn in shown["turns"]] == [True, True, False]
    text = home.run("show", fork.id).stdout
    heads = [line for line in text.splitlines() if line.startswith("---")]
    assert [line.endswith("(inherited)") for line in heads] == [True, True, False]


def test_error_of_a_completed_task_is_a_note(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("provoke it")
    inner = json.dumps({"error": {"message": "the galah said no", "type": "invalid"}})
    file.event("task_complete", last_agent_message=None, error={"message": inner})
    assert turns(home, file) == [Turn("provoke it", steps=(Note("error", "the galah said no"),))]


def test_shell_command_of_the_user_is_a_prompt_with_its_output(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.completed(**command_item("git status", "clean"), id=file.uuid(), source="user_shell")
    text = (
        "<user_shell_command>\n<command>\ngit status\n</command>\n<result>\n"
        "Exit code: 0\nOutput:\nclean\n</result>\n</user_shell_command>"
    )
    file.item("message", role="user", content=[{"type": "input_text", "text": text}])
    note = Note("command", "Exit code: 0\nOutput:\nclean")
    assert turns(home, file) == [Turn("git status", steps=(note,))]


def test_output_without_a_call_keeps_the_name_of_its_tool(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("work on the goal")
    for number in (1, 2):
        file.item(
            "function_call_output",
            id=f"fco_{number}",
            name="goal_objective",
            output=f"goal {number}",
        )
    calls = [ToolCall("goal_objective", None, ToolResult(f"goal {n}")) for n in (1, 2)]
    assert [call for turn in turns(home, file) for call in turn.calls()] == calls


def test_summary_of_a_compaction_is_not_also_a_text(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("one")
    file.answer("first")
    part = {"type": "output_text", "text": "All that happened.", "annotations": []}
    file.item("message", role="assistant", content=[part])
    file.add("compacted", message="Here is the summary:\nAll that happened.")
    file.item("compaction", encrypted_content="gAAAAABp")
    file.completed("ContextCompaction")
    file.prompt("two")
    file.answer("All that happened.")
    summary = Note("summary", "Here is the summary:\nAll that happened.")
    assert turns(home, file) == [
        Turn("one", steps=(message(Text("first")), summary)),
        Turn("two", steps=(message(Text("All that happened.")),)),
    ]
    assert home.rows()[file.id].session.unknown_types == {}


def test_token_usage_record_counts_once_with_cache_writes(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("one")
    file.answer("first")
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "cache_write_input_tokens": 30,
        "output_tokens": 5,
        "total_tokens": 105,
    }
    file.add("token_usage_record", response_id="r1", usage=usage, thread_token_usage=usage)
    file.event("token_count", info={"total_token_usage": usage, "last_token_usage": usage})
    file.write()
    home.index()
    ((known,),) = (entry.usage for entry in home.manifest(file.id).entries)
    counts = (known.input, known.output, known.cache_read, known.cache_write)
    assert counts == (10, 5, 60, 30)


def test_failed_calls_without_an_exit_code_are_errors(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("one")
    texts = ("Script failed\nError: x", "apply_patch verification failed: y", "unsupported call: z")
    for number, text in enumerate((*texts, "fine: unsupported call: z")):
        file.item("function_call", name="t", arguments="{}", call_id=f"call_{number}")
        file.item("function_call_output", call_id=f"call_{number}", output=text)
    results = [call.result for turn in turns(home, file) for call in turn.calls()]
    assert [result.is_error for result in results if result] == [True, True, True, False]


def test_generated_image_is_a_call_with_a_blob(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("draw a quokka")
    item = {"status": "completed", "revised_prompt": "a smiling quokka", "result": "iVBORw=="}
    file.item("image_generation_call", id="ig_1", **item)
    ((call,),) = (turn.calls() for turn in turns(home, file))
    assert (call.name, call.input) == ("image_generation", {"prompt": "a smiling quokka"})
    assert call.result is not None
    assert [(blob.media_type, blob.size) for blob in call.result.blobs] == [("image/png", 4)]


def test_mcp_tool_has_the_name_of_its_server(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("one")
    file.item("function_call", name="query", namespace="mcp__db", arguments="{}", call_id="call_1")
    file.item("function_call", name="wait", namespace="collaboration", arguments="{}", call_id="c2")
    names = [call.name for turn in turns(home, file) for call in turn.calls()]
    assert names == ["mcp__db__query", "wait"]


def test_unknown_item_is_counted(home: Home) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("one")
    file.item("hologram", data="x")
    turns(home, file)
    assert home.rows()[file.id].session.unknown_types == {"response_item/hologram": 1}


def test_reading_in_pieces_equals_reading_at_once(home: Home) -> None:
    first, second = rewound(home)
    first.script(SCRIPT, "ok", command_item("pytest -q", "ok"))
    data = b"".join(first.lines() + second.lines())
    whole = without_progress(read("codex", data))
    ends = [n + 1 for n, byte in enumerate(data) if byte == 10]
    for cut in ends:
        assert without_progress(read_in_pieces("codex", data, [cut])) == whole


def test_new_reader_replaces_turns_without_superseding_them(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.paginated_codex()
    file.meta()
    file.prompt("one")
    file.script(SCRIPT, "ok", command_item("pytest -q", "ok"))
    file.write()
    with monkeypatch.context() as patched:
        patched.setattr("ccgrep.sources.codex_conversation.parse_nested_call", lambda *_: None)
        home.index()
    assert len(home.turns(file.id)[0].calls()) == 1
    home.index(is_full=True)
    assert list(home.rows()) == [file.id]
    assert len(home.turns(file.id)[0].calls()) == 2
