"""What begins a turn, what belongs to it, and its usage, for both sources."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from ccgrep.model import Blob, Message, Note, Text, ToolCall, ToolResult, Turn, Usage
from ccgrep.sources.values import usage_key
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

MODEL = "claude-opus-4-6"
PNG = b"\x89PNG"
IMAGE = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(PNG).decode(),
    },
}
BLOB = Blob("image/png", len(PNG), hashlib.sha256(PNG).hexdigest())


def read(home: Home, file: ClaudeFile) -> list[Turn]:
    file.write()
    home.index()
    return home.turns(file.id)


def read_prompts(home: Home, file: ClaudeFile) -> list[str]:
    return [turn.prompt for turn in read(home, file)]


def message(text: str) -> Message:
    return Message((Text(text),), MODEL)


def text_blocks(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": item} for item in texts]


def command(name: str, args: str | None = None, message_first: bool = False) -> str:
    """Return Claude Code's text for a slash command. Skills have their message first."""
    name_tag = f"<command-name>{name}</command-name>"
    message = f"<command-message>{name.strip('/')}</command-message>"
    tags = [message, name_tag] if message_first else [name_tag, message]
    if args is not None:
        tags.append(f"<command-args>{args}</command-args>")
    return "\n            ".join(tags)


# Typed text begins a turn.

TYPED: dict[str, tuple[str | list[dict[str, Any]], dict[str, Any], str]] = {
    "a string": ("fix the parser", {}, "fix the parser"),
    "a block": (text_blocks("fix the parser"), {}, "fix the parser"),
    "two blocks": (
        text_blocks("fix the parser", "and the lexer"),
        {},
        "fix the parser\nand the lexer",
    ),
    "a heading": ("# Plan\n1. parse", {}, "# Plan\n1. parse"),
    "a plan": ("Implement the following plan: parse", {}, "Implement the following plan: parse"),
    "words about a tag": ("what is <command-name>?", {}, "what is <command-name>?"),
    "Warmup, by a person": ("Warmup", {}, "Warmup"),
    "a skill": (command("/commit", message_first=True), {}, "/commit"),
    "a skill with arguments": (
        command("/review", "the parser", message_first=True),
        {},
        "/review the parser",
    ),
    "a command with arguments": (
        command("/fix-issue", "42 in the\nparser"),
        {},
        "/fix-issue 42 in the\nparser",
    ),
    "a shell command": ("<bash-input>git status</bash-input>", {}, "git status"),
    "a human origin": ("yes", {"origin": {"kind": "human"}}, "yes"),
    "typed": ("yes", {"promptSource": "typed"}, "yes"),
    "queued": ("yes", {"promptSource": "queued"}, "yes"),
    "an accepted suggestion": ("yes", {"promptSource": "suggestion_accepted"}, "yes"),
    "a number for an image": (text_blocks("[Image #1] what is it?"), {}, "[Image #1] what is it?"),
}


@pytest.mark.parametrize("case", TYPED)
def test_typed_text_begins_a_turn(home: Home, case: str) -> None:
    content, fields, prompt = TYPED[case]
    file = home.claude()
    file.turn("hello", "hi")
    file.prompt(content, **fields)
    file.answer("done")
    assert read(home, file) == [
        Turn("hello", steps=(message("hi"),)),
        Turn(prompt, steps=(message("done"),)),
    ]


CONTEXT = {
    "<ide_opened_file>The user opened a.py</ide_opened_file>": "The user opened a.py",
    "<ide_selection>The user selected lines 1 to 3</ide_selection>": (
        "The user selected lines 1 to 3"
    ),
    "<system-reminder>Today is Monday</system-reminder>": "Today is Monday",
}


@pytest.mark.parametrize("context", CONTEXT)
@pytest.mark.parametrize("is_one_text", [True, False])
def test_context_before_a_prompt_is_a_note_in_its_turn(
    home: Home, context: str, is_one_text: bool
) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    prompt = "explain it"
    file.prompt(
        text_blocks(f"{context}\n{prompt}") if is_one_text else text_blocks(context, prompt)
    )
    file.answer("it adds")
    note = Note("context", CONTEXT[context])
    assert read(home, file)[1] == Turn("explain it", steps=(note, message("it adds")))


def test_image_alone_begins_a_turn(home: Home) -> None:
    file = home.claude()
    file.prompt([IMAGE])
    file.prompt(text_blocks("[Image: source: /tmp/shot.png]"), isMeta=True)
    file.answer("a cat")
    assert read(home, file) == [Turn("", attached=(BLOB,), steps=(message("a cat"),))]


def test_equal_prompts_begin_separate_turns(home: Home) -> None:
    file = home.claude()
    for _ in range(3):
        file.turn("go on", "more")
    assert read(home, file) == [Turn("go on", steps=(message("more"),))] * 3


# Injected text does not.

INJECTED: dict[str, tuple[str | list[dict[str, Any]], dict[str, Any], Note | None]] = {
    "caveat": ("<local-command-caveat>Caveat: x</local-command-caveat>", {"isMeta": True}, None),
    "old caveat": ("Caveat: The messages below were generated", {"isMeta": True}, None),
    "stdout": (
        "<local-command-stdout>Set model to opus</local-command-stdout>",
        {},
        Note("command", "Set model to opus"),
    ),
    "stderr": (
        "<local-command-stderr>no such model</local-command-stderr>",
        {},
        Note("command", "no such model"),
    ),
    "empty stdout": ("<local-command-stdout></local-command-stdout>", {}, None),
    "shell output": (
        "<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>",
        {},
        Note("command", "clean"),
    ),
    "unknown skill": ("Unknown skill: deploy", {}, Note("command", "Unknown skill: deploy")),
    "task": (
        "<task-notification>done</task-notification>",
        {},
        Note("notification", "<task-notification>done</task-notification>"),
    ),
    "task by origin": (
        "the task is done",
        {"origin": {"kind": "task-notification"}},
        Note("notification", "the task is done"),
    ),
    "peer": ("from a peer", {"origin": {"kind": "peer"}}, Note("notification", "from a peer")),
    "coordinator": ("work!", {"origin": {"kind": "coordinator"}}, Note("notification", "work!")),
    "system": ("tick", {"promptSource": "system"}, Note("notification", "tick")),
    "interruption": (
        text_blocks("[Request interrupted by user]"),
        {},
        Note("interrupted", "[Request interrupted by user]"),
    ),
    "interruption of a tool": (
        text_blocks("[Request interrupted by user for tool use]"),
        {},
        Note("interrupted", "[Request interrupted by user for tool use]"),
    ),
    "observer": (
        "<observed_from_primary_session>x</observed_from_primary_session>",
        {},
        Note("context", "<observed_from_primary_session>x</observed_from_primary_session>"),
    ),
    "compact summary": (
        "This session is being continued from a previous conversation.",
        {"isCompactSummary": True, "isVisibleInTranscriptOnly": True},
        Note("summary", "This session is being continued from a previous conversation."),
    ),
    "compact summary of 1.0": (
        "This session is being continued from a previous conversation.",
        {"isCompactSummary": True},
        Note("summary", "This session is being continued from a previous conversation."),
    ),
    "compact summary in other words": (
        "What happened so far: everything.",
        {"isCompactSummary": True},
        Note("summary", "What happened so far: everything."),
    ),
    "skill": (
        text_blocks("Base directory for this skill: /s\n\nDo it so."),
        {"isMeta": True},
        Note("context", "Base directory for this skill: /s\n\nDo it so."),
    ),
    "injected heading": (text_blocks("# Init"), {"isMeta": True}, Note("context", "# Init")),
    "injected words": ("so it is", {"isMeta": True}, Note("context", "so it is")),
    "another session": (
        "Another Claude session sent: hi",
        {"isMeta": True, "origin": {"kind": "peer"}},
        Note("notification", "Another Claude session sent: hi"),
    ),
    "image path": (text_blocks("[Image: source: /tmp/a.png]"), {"isMeta": True}, None),
    "continuation": (text_blocks("Continue from where you left off."), {"isMeta": True}, None),
    "reminder": (
        "<system-reminder>be brief</system-reminder>",
        {"isMeta": True},
        Note("context", "be brief"),
    ),
    "opened file alone": (
        text_blocks("<ide_opened_file>a.py</ide_opened_file>"),
        {},
        Note("context", "a.py"),
    ),
}


@pytest.mark.parametrize("case", INJECTED)
def test_injected_text_begins_no_turn(home: Home, case: str) -> None:
    content, fields, note = INJECTED[case]
    file = home.claude()
    file.turn("hello", "hi")
    file.prompt(content, **fields)
    file.answer("done")
    (turn,) = read(home, file)
    notes = [step for step in turn.steps if isinstance(step, Note)]
    assert [turn.prompt, *turn.messages()] == ["hello", message("hi"), message("done")]
    assert notes == ([note] if note else [])


def test_answer_before_the_first_prompt_gets_an_empty_prompt(home: Home) -> None:
    file = home.claude()
    file.answer("left over from before")
    file.turn("hello", "hi")
    assert read(home, file) == [
        Turn("", steps=(message("left over from before"),)),
        Turn("hello", steps=(message("hi"),)),
    ]


def test_session_without_messages_has_no_turn(home: Home) -> None:
    file = home.claude()
    file.meta("file-history-snapshot", messageId="m", snapshot={}, isSnapshotUpdate=False)
    file.meta("ai-title", aiTitle="Nothing")
    file.meta("queue-operation", operation="enqueue", timestamp=file.tick())
    assert read(home, file) == []


# A command is a prompt if the agent answers it.


def test_unanswered_built_in_command_is_a_note(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.prompt("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    file.prompt(command("/model", ""))
    file.prompt("<local-command-stdout>Set model to opus</local-command-stdout>")
    file.turn("and now?", "better")
    notes = (Note("command", "/model"), Note("command", "Set model to opus"))
    assert read(home, file) == [
        Turn("hello", steps=(message("hi"), *notes)),
        Turn("and now?", steps=(message("better"),)),
    ]


def test_answered_built_in_command_is_a_prompt(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.prompt(command("/init", ""))
    file.prompt(text_blocks("Please analyze this codebase"), isMeta=True)
    file.answer("written")
    note = Note("context", "Please analyze this codebase")
    assert read(home, file) == [
        Turn("hello", steps=(message("hi"),)),
        Turn("/init", steps=(note, message("written"))),
    ]


def test_local_command_in_a_system_record_begins_no_turn(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.add("system", subtype="local_command", content=command("/status", ""))
    output = "<local-command-stdout>all well</local-command-stdout>"
    file.add("system", subtype="local_command", content=output)
    file.turn("go on", "more")
    notes = (Note("command", "/status"), Note("command", "all well"))
    assert read(home, file) == [
        Turn("hello", steps=(message("hi"), *notes)),
        Turn("go on", steps=(message("more"),)),
    ]


def test_shell_output_is_a_note_in_its_turn(home: Home) -> None:
    file = home.claude()
    file.prompt("<bash-input>git status</bash-input>")
    file.prompt("<bash-stdout>clean\n</bash-stdout><bash-stderr>warning</bash-stderr>")
    file.turn("commit it", "done")
    assert read(home, file) == [
        Turn("git status", steps=(Note("command", "clean\nwarning"),)),
        Turn("commit it", steps=(message("done"),)),
    ]


def test_command_before_a_result_without_a_call_is_a_note(home: Home) -> None:
    file = home.claude()
    file.prompt(command("/model", ""))
    file.result("toolu_gone", "still useful")
    file.answer("done")
    kept = ToolCall("unknown", result=ToolResult("still useful"))
    assert read(home, file) == [
        Turn("", steps=(Note("command", "/model"), message("done"), Message((kept,))))
    ]


# Prompts typed while the agent works.


def add_operation(file: ClaudeFile, name: str, **fields: Any) -> None:
    file.meta("queue-operation", operation=name, timestamp=file.tick(), **fields)


def attach(file: ClaudeFile, prompt: Any, **fields: Any) -> None:
    queued = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **fields}
    file.add("attachment", attachment=queued)


def by_remove(file: ClaudeFile) -> None:
    add_operation(file, "enqueue", content="also the lexer")
    add_operation(file, "remove")


def by_remove_with_content(file: ClaudeFile) -> None:
    add_operation(file, "enqueue", content="also the lexer")
    add_operation(file, "remove", content="also the lexer")


def by_list(file: ClaudeFile) -> None:
    add_operation(file, "enqueue", content=text_blocks("also the lexer"))
    add_operation(file, "remove")


def by_dequeue(file: ClaudeFile) -> None:
    add_operation(file, "enqueue", content="also the lexer")
    add_operation(file, "dequeue")
    file.prompt("also the lexer")


def by_attachment(file: ClaudeFile) -> None:
    add_operation(file, "enqueue")
    add_operation(file, "remove")
    attach(file, "also the lexer")


def by_operation_and_attachment(file: ClaudeFile) -> None:
    by_remove(file)
    attach(file, "also the lexer")


def by_attachment_and_operation(file: ClaudeFile) -> None:
    add_operation(file, "enqueue", content="also the lexer")
    attach(file, "also the lexer")
    add_operation(file, "remove")


def by_all_three(file: ClaudeFile) -> None:
    by_remove(file)
    attach(file, "also the lexer")
    file.prompt("also the lexer", promptSource="queued")


QUEUED = [
    by_remove,
    by_remove_with_content,
    by_list,
    by_dequeue,
    by_attachment,
    by_operation_and_attachment,
    by_attachment_and_operation,
    by_all_three,
]


@pytest.mark.parametrize("inject", QUEUED)
def test_queued_prompt_begins_one_turn(home: Home, inject: Callable[[ClaudeFile], None]) -> None:
    file = home.claude()
    file.turn("fix the parser", "on it")
    inject(file)
    file.answer("both done")
    file.turn("thanks", "welcome")
    assert read(home, file) == [
        Turn("fix the parser", steps=(message("on it"),)),
        Turn("also the lexer", steps=(message("both done"),)),
        Turn("thanks", steps=(message("welcome"),)),
    ]


@pytest.mark.parametrize("inject", QUEUED)
def test_queued_prompt_begins_one_turn_when_read_record_by_record(
    home: Home, inject: Callable[[ClaudeFile], None]
) -> None:
    file = home.claude()
    file.turn("fix the parser", "on it")
    inject(file)
    file.answer("both done")
    file.turn("thanks", "welcome")
    records, file.records = file.records, []
    for record in records:
        file.records.append(record)
        file.append()
        home.index()
    assert home.prompts(file.id) == ["fix the parser", "also the lexer", "thanks"]
    assert_same_as_fresh(home)


@pytest.mark.parametrize("inject", QUEUED)
def test_result_goes_to_the_turn_of_its_call(
    home: Home, inject: Callable[[ClaudeFile], None]
) -> None:
    file = home.claude()
    file.prompt("fix the parser")
    call_id = file.call("Bash", {"command": "make"})
    inject(file)
    file.result(call_id, "ok")
    file.answer("both done")
    call = ToolCall("Bash", {"command": "make"}, ToolResult("ok"))
    assert read(home, file) == [
        Turn("fix the parser", steps=(Message((call,), MODEL),)),
        Turn("also the lexer", steps=(message("both done"),)),
    ]


def test_late_result_goes_to_the_turn_of_its_call(home: Home) -> None:
    file = home.claude()
    file.prompt("fix the parser")
    call_id = file.call("Bash", {"command": "make"})
    by_remove(file)
    file.answer("looking at it")
    file.result(call_id, "ok")
    call = ToolCall("Bash", {"command": "make"}, ToolResult("ok"))
    assert read(home, file) == [
        Turn("fix the parser", steps=(Message((call,), MODEL),)),
        Turn("also the lexer", steps=(message("looking at it"),)),
    ]


def test_fragments_of_a_message_stay_in_one_turn(home: Home) -> None:
    file = home.claude()
    file.prompt("fix the parser")
    ids = {"message_id": "msg_1", "request_id": "req_1"}
    file.answer("I will run it", **ids)
    by_remove(file)
    call_id = file.call("Bash", {"command": "make"}, **ids)
    file.result(call_id, "ok")
    file.answer("both done")
    call = ToolCall("Bash", {"command": "make"}, ToolResult("ok"))
    assert read(home, file) == [
        Turn("fix the parser", steps=(Message((Text("I will run it"), call), MODEL),)),
        Turn("also the lexer", steps=(message("both done"),)),
    ]


def test_message_begun_before_an_injection_stays_in_its_turn(home: Home) -> None:
    file = home.claude()
    file.prompt("fix the parser")
    before = file.tick()
    by_remove(file)
    file.answer("parser done", timestamp=before)
    file.answer("both done")
    assert read(home, file) == [
        Turn("fix the parser", steps=(message("parser done"),)),
        Turn("also the lexer", steps=(message("both done"),)),
    ]


def test_withdrawn_prompt_begins_no_turn(home: Home) -> None:
    file = home.claude()
    file.turn("fix the parser", "on it")
    add_operation(file, "enqueue", content="also the lexer")
    add_operation(file, "enqueue", content="and the tests")
    add_operation(file, "popAll", content="also the lexer\nand the tests")
    file.answer("parser done")
    file.turn("also the tests", "done")
    assert read(home, file) == [
        Turn("fix the parser", steps=(message("on it"), message("parser done"))),
        Turn("also the tests", steps=(message("done"),)),
    ]


def test_prompt_withdrawn_and_sent_again_begins_one_turn(home: Home) -> None:
    file = home.claude()
    file.turn("fix the parser", "on it")
    add_operation(file, "enqueue", content="also the lexer")
    add_operation(file, "popAll")
    file.answer("parser done")
    file.turn("also the lexer", "done")
    assert read_prompts(home, file) == ["fix the parser", "also the lexer"]


def test_equal_prompts_queued_apart_begin_separate_turns(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    for _ in range(2):
        add_operation(file, "enqueue", content="go on")
        add_operation(file, "remove")
        attach(file, "go on")
        file.answer("more")
    file.turn("go on", "and more")
    assert read_prompts(home, file) == ["begin", "go on", "go on", "go on"]


def test_two_queued_prompts_begin_two_turns(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    add_operation(file, "enqueue", content="one")
    add_operation(file, "enqueue", content="two")
    add_operation(file, "remove")
    add_operation(file, "remove")
    file.answer("both done")
    assert read(home, file)[1:] == [Turn("one"), Turn("two", steps=(message("both done"),))]


def test_queued_prompt_at_the_end_begins_a_turn(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    add_operation(file, "enqueue", content="one more thing")
    add_operation(file, "remove")
    assert read_prompts(home, file) == ["begin", "one more thing"]


def test_waiting_prompt_begins_no_turn(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    add_operation(file, "enqueue", content="not yet")
    assert read_prompts(home, file) == ["begin"]


def test_prompt_after_an_injected_one_rolls_nothing_back(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    add_operation(file, "enqueue", content="also this")
    add_operation(file, "remove")
    file.prompt(text_blocks("[Request interrupted by user]"))
    file.turn("no, that", "done")
    assert read_prompts(home, file) == ["begin", "also this", "no, that"]
    entries = home.manifest(file.id).entries
    assert [entry.is_rolled_back for entry in entries] == [False, False, False]


def test_queued_notification_begins_no_turn(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    notification = "<task-notification>task 7 is done</task-notification>"
    add_operation(file, "enqueue", content=notification)
    add_operation(file, "remove")
    attach(file, notification, commandMode="task-notification")
    attach(file, "by a peer", origin={"kind": "peer"})
    attach(file, "by the client", isMeta=True)
    file.answer("seen")
    assert read_prompts(home, file) == ["begin"]


def test_queued_image_is_attached_to_its_prompt(home: Home) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    attach(file, [*text_blocks("like this"), IMAGE])
    file.answer("so")
    assert read(home, file)[1] == Turn("like this", attached=(BLOB,), steps=(message("so"),))


# Workers and sub-agents.


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("agent-acompact-1a2b", "Your task is to create a detailed summary of it all"),
        ("agent-aprompt_suggestion-1a2b", "[SUGGESTION MODE: what might they type]"),
        ("agent-aside_question-1a2b", "by the way, what is this?"),
        ("agent-a1b2c3d4", "Warmup"),
        ("agent-a1b2c3d4", "[SUGGESTION MODE: what might they type]"),
        ("agent-a1b2c3d4", "Your task is to create a detailed summary of it all"),
    ],
)
def test_machine_prompt_begins_no_turn(home: Home, name: str, prompt: str) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    main.write()
    worker = home.subagent(main, name)
    worker.turn(prompt, "made by a machine")
    note = Note("machine", prompt)
    assert read(home, worker) == [Turn("", steps=(note, message("made by a machine")))]


def test_command_that_a_worker_copied_is_discarded(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    main.write()
    worker = home.subagent(main, "agent-acompact-1a2b")
    worker.prompt("<local-command-stdout>set</local-command-stdout>")
    worker.prompt(command("/model", ""))
    worker.turn("Your task is to create a detailed summary", "the summary")
    note = Note("machine", "Your task is to create a detailed summary")
    assert read(home, worker) == [Turn("", steps=(note, message("the summary")))]


def test_subagent_prompt_begins_a_turn(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    main.write()
    agent = home.subagent(main, "agent-a1b2c3d4")
    agent.turn("look into the parser", "it is fine")
    assert read(home, agent) == [Turn("look into the parser", steps=(message("it is fine"),))]


# Records out of order, and turns that were rolled back.


def test_result_before_its_call_is_matched(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    call_id = file.call("Bash", {"command": "make"})
    call = file.records.pop()
    file.result(call_id, "ok")
    file.records.append(call)
    file.answer("done")
    made = ToolCall("Bash", {"command": "make"}, ToolResult("ok"))
    assert read(home, file) == [
        Turn("go", steps=(Message((made,), MODEL), message("done"))),
    ]


def test_result_without_a_call_is_kept(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    file.result("toolu_gone", "still useful", is_error=True)
    kept = ToolCall("unknown", result=ToolResult("still useful", is_error=True))
    assert read(home, file) == [Turn("go", steps=(Message((kept,)),))]


def test_text_beside_a_result_begins_a_turn(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    call_id = file.call("Bash", {"command": "rm x"})
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "no", "is_error": True}
    file.prompt([result, *text_blocks("move it instead")])
    file.answer("moved")
    refused = ToolCall("Bash", {"command": "rm x"}, ToolResult("no", is_error=True))
    assert read(home, file) == [
        Turn("go", steps=(Message((refused,), MODEL),)),
        Turn("move it instead", steps=(message("moved"),)),
    ]


def test_result_in_an_assistant_record_is_matched(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    call_id = file.call("web_search", {"query": "x"}, model="glm-4.7", message_id="m")
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "found"}
    file.blocks(result, model="glm-4.7", message_id="m")
    call = ToolCall("web_search", {"query": "x"}, ToolResult("found"))
    assert read(home, file) == [Turn("go", steps=(Message((call,), "glm-4.7"),))]


def test_claude_turns_that_were_rolled_back_are_marked(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    after_one = file.last_uuid
    file.turn("two", "second")
    file.turn("three", "third")
    file.last_uuid = after_one
    file.turn("two again", "better")
    file.turn("four", "fourth")
    assert read_prompts(home, file) == ["one", "two", "three", "two again", "four"]
    entries = home.manifest(file.id).entries
    assert [entry.is_rolled_back for entry in entries] == [False, True, True, False, False]


def test_repeated_records_are_skipped(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first", "ls", "a.py")
    file.turn("two", "second")
    file.records += file.records[:]
    file.turn("three", "third")
    assert read_prompts(home, file) == ["one", "two", "three"]
    assert home.rows()[file.id].session.input_tokens == 40


def test_codex_turns_that_were_rolled_back_are_marked(home: Home) -> None:
    file = home.codex()
    file.meta()
    for prompt in ("one", "two", "three"):
        file.turn(prompt, "done")
    file.event("thread_rolled_back", num_turns=1)
    file.turn("four", "done")
    file.event("thread_rolled_back", num_turns=2)
    file.turn("five", "done")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["one", "two", "three", "four", "five"]
    entries = home.manifest(file.id).entries
    assert [entry.is_rolled_back for entry in entries] == [False, True, True, True, False]


# Usage.


def read_usage(home: Home, file: ClaudeFile) -> tuple[list[Usage], int | None, int | None]:
    read(home, file)
    manifest = home.manifest(file.id)
    found = [usage for entry in manifest.entries for usage in entry.usage]
    return found, manifest.session.input_tokens, manifest.session.output_tokens


def test_repeated_usage_counts_once_with_its_maximum(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    ids = {"message_id": "msg_1", "request_id": "req_1"}
    for output, cached in ((1, None), (40, 7), (12, 3)):
        usage = {"input_tokens": 100, "output_tokens": output, "cache_read_input_tokens": cached}
        file.answer(f"part {output}", usage=usage, **ids)
    key = usage_key("msg_1", "req_1")
    assert read_usage(home, file) == ([Usage(key, MODEL, 100, 40, 7, None)], 100, 40)


def test_message_requested_twice_counts_twice(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    file.answer("a", message_id="msg_1", request_id="req_1")
    file.answer("b", message_id="msg_1", request_id="req_2")
    found, input_tokens, output_tokens = read_usage(home, file)
    assert [usage.key for usage in found] == [
        usage_key("msg_1", "req_1"),
        usage_key("msg_1", "req_2"),
    ]
    assert (input_tokens, output_tokens) == (20, 10)


def test_message_repeated_later_counts_once(home: Home) -> None:
    file = home.claude()
    file.prompt("one")
    file.answer("first", message_id="msg_1", request_id="req_1")
    file.turn("two", "second")
    file.prompt("three")
    file.answer("first", message_id="msg_1", request_id="req_1")
    assert read_usage(home, file)[1:] == (20, 10)


def test_unknown_usage_is_none_not_zero(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    file.answer("from another vendor", usage=None)
    assert read_usage(home, file) == ([], None, None)
    file.answer("half known", usage={"output_tokens": 0}, message_id="m", request_id="r")
    expected = Usage(usage_key("m", "r"), MODEL, None, 0, None, None)
    assert read_usage(home, file) == ([expected], None, 0)


def test_api_error_has_no_usage(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    zero = {"input_tokens": 0, "output_tokens": 0}
    file.answer("API Error: 529", model="<synthetic>", isApiErrorMessage=True, usage=zero)
    assert read_usage(home, file) == ([], None, None)
    assert home.turns(file.id) == [Turn("go", steps=(Note("error", "API Error: 529"),))]
    assert home.rows()[file.id].session.models == ()


def test_repeated_cumulative_codex_counters_count_once(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("one", "first")
    file.event("token_count", info=None, rate_limits=None)
    file.tokens(100, 60, 5)
    count = file.records[-1]
    file.records.append(count)
    file.turn("two", "second")
    file.records.append(count)
    file.tokens(300, 0, 20)
    file.write()
    home.index()
    manifest = home.manifest(file.id)
    tokens = [
        [(usage.input, usage.cache_read, usage.output) for usage in entry.usage]
        for entry in manifest.entries
    ]
    assert tokens == [[(40, 60, 5)], [(300, 0, 20)]]
    assert (manifest.session.input_tokens, manifest.session.output_tokens) == (340, 25)
