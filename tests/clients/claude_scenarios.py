"""Scenarios of Claude Code without a terminal: answers, tools and errors."""

import base64
from typing import Any

from tests.clients.script import (
    Answer,
    AnyStep,
    Call,
    Find,
    Redact,
    Run,
    Say,
    Scenario,
    Session,
    Stream,
    Think,
    Turn,
    Write,
    turn,
)
from tests.clients.world import RED_SQUARE

SLASH_COMMAND = Write(
    "$PROJECT/.claude/commands/animal.md", "Tell me about the animal called $ARGUMENTS.\n"
)
WAIT_FOR_FILE = "while [ ! -e go ]; do sleep 0.1; done; echo the kookaburra went"
_PRINT_EMUS = "python3 -c \"print('\\n'.join(f'emu line {i} ' + 'x' * 60 for i in range(3000)))\""
_LAST_EMUS = "".join(f"emu line {i} " + "x" * 60 + "\n" for i in (2998, 2999))
_EDIT = {
    "file_path": "$PROJECT/test_wombat.py",
    "old_string": "FACTOR = 3",
    "new_string": "FACTOR = 4",
    "replace_all": False,
}
_PICTURE = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(RED_SQUARE).decode(),
    },
}


def bash(command: str, output: str = "", **fields: Any) -> Call:
    """Return a call of Bash with its whole output."""
    input = {"command": command, "description": "A scripted command"}
    return Call("Bash", input, output, **{"is_whole": True, **fields})


def single(name: str, *turns: Turn, steps: tuple[AnyStep, ...] = (), **fields: Any) -> Scenario:
    """Return a scenario of one session."""
    session = Session("main", turns, title=fields.pop("title", ""))
    return Scenario(name, "claude", (session,), steps, **fields)


ANSWERS = (
    single("claude-plain", turn("hello quokka", "Hello from the stub.")),
    single("claude-two-texts", turn("answer in two parts", (Say("Part one."), Say("Part two.")))),
    single(
        "claude-many-lines",
        turn("first line\n\n  second: 'é' \\ \"q\"", "One\n\n```\ntwo\n```"),
        title="first line",
    ),
    single(
        "claude-thinking",
        turn("think about bettongs", (Think("Bettongs dig."), Say("They dig."))),
    ),
    single(
        "claude-redacted-thinking",
        turn("hide a thought", (Redact("ZW5jcnlwdGVk"), Say("The thought is hidden."))),
    ),
    single("claude-empty-answer", turn("say nothing at all", "")),
    single(
        "claude-stdin",
        turn("a prompt\nfrom stdin\n", "Read."),
        steps=(Run(stdin="a prompt\nfrom stdin\n"),),
        title="a prompt",
    ),
    single(
        "claude-image",
        turn("what is in this picture", "A red square.", images=1),
        steps=(Stream((("", [{"type": "text", "text": "what is in this picture"}, _PICTURE]),)),),
    ),
    single(
        "claude-name",
        turn("hello to the named quokka", "Hello."),
        steps=(Run(arguments=("--name", "The named quokka")),),
        title="The named quokka",
    ),
    single(
        "claude-model-switch",
        turn("hello by haiku", "Haiku here."),
        turn("hello by sonnet", "Sonnet here."),
        steps=(Run(arguments=("--model", "haiku")), Run(arguments=("--model", "sonnet"))),
    ),
)
TOOLS = (
    single(
        "claude-tools",
        turn(
            "why does the wombat test fail",
            (
                Think("The wombat test must be read first."),
                Say("I read the test."),
                Call("Read", {"file_path": "$PROJECT/test_wombat.py"}, "FACTOR = 3"),
            ),
            (Call("Edit", _EDIT, "test_wombat.py has been updated"),),
            (
                Call(
                    "Write",
                    {"file_path": "$PROJECT/fix.md", "content": "The factor is 4.\n"},
                    "File created successfully",
                ),
                bash("python3 test_wombat.py && echo passed", "passed"),
            ),
            (Think("It passes."), Say("The wombat factor must be 4.")),
        ),
    ),
    single(
        "claude-several-tools",
        turn(
            "run three commands at once",
            (bash("echo one", "one"), bash("echo two", "two"), bash("echo three", "three")),
            "One, two, three.",
        ),
    ),
    single(
        "claude-failing-tools",
        turn(
            "run what fails",
            (bash("echo broken; exit 3", "Exit code 3\nbroken", is_error=True),),
            (Call("Read", {"file_path": "/nowhere/cassowary"}, "does not exist", is_error=True),),
            "Both failed.",
        ),
    ),
    single(
        "claude-unknown-tool",
        turn(
            "use a tool that does not exist",
            (Call("NoSuchTool", {"x": 1}, "No such tool available", is_error=True),),
            "There is no such tool.",
        ),
    ),
    single(
        "claude-big-output",
        turn(
            "print very much",
            (bash(_PRINT_EMUS, _LAST_EMUS, is_whole=False),),
            "The emus were many.",
        ),
    ),
    single(
        "claude-image-read",
        turn(
            "read the picture file",
            (Call("Read", {"file_path": "$PROJECT/red.png"}, images=1),),
            "It shows a red square.",
        ),
    ),
    single(
        "claude-tasks",
        turn(
            "plan the bilby work",
            (Call("TaskCreate", {"subject": "Feed it", "description": "Grubs"}, "Task #1"),),
            (Call("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1"),),
            (Call("TaskList", {}, "Feed it"),),
            "The bilby is fed.",
        ),
    ),
    single(
        "claude-background-command",
        turn(
            "start the dingo server",
            (
                Call(
                    "Bash",
                    {
                        "command": "sleep 2; echo dingo ready",
                        "description": "A scripted command",
                        "run_in_background": True,
                    },
                    "dingo ready",
                ),
            ),
            "It runs in the background.",
            "The dingo server has ended.",
        ),
    ),
    single(
        "claude-queue",
        turn("a slow kookaburra prompt", (bash(WAIT_FOR_FILE, "the kookaburra went"),)),
        turn("a queued lyrebird prompt"),
        turn("a queued magpie prompt", "All three are answered."),
        steps=(
            Stream(
                (
                    ("", "a slow kookaburra prompt"),
                    ('"tool_use"', "a queued lyrebird prompt"),
                    ("", "a queued magpie prompt"),
                ),
                then=(Find('"enqueue"', 3), Write("$PROJECT/go")),
            ),
        ),
    ),
    single(
        "claude-mcp",
        turn(
            "ask the zoo",
            (Call("mcp__zoo__count", {"animal": "numbat"}, "7 numbats", is_whole=True),),
            "Seven numbats.",
        ),
        steps=(Run(arguments=("--mcp-config", "$HOME/zoo.json")),),
    ),
    single(
        "claude-hooks",
        turn("hello to the hooks", (bash("echo hooked", "hooked"),), "The hooks ran."),
        settings={
            "hooks": {
                event: [{"hooks": [{"type": "command", "command": f"echo {event} ran"}]}]
                for event in (
                    "SessionStart",
                    "UserPromptSubmit",
                    "PreToolUse",
                    "PostToolUse",
                    "Stop",
                )
            }
        },
    ),
)
ERRORS = (
    single(
        "claude-error-400",
        turn(
            "provoke a bad request",
            Answer(status=400, error="scripted: the galah said no"),
            notes={"error": "the galah said no"},
        ),
        turn("what now", "The galah is behind us."),
        steps=(Run(may_fail=True), Run()),
    ),
    single(
        "claude-error-529",
        turn(
            "provoke an overload",
            Answer(status=529, error="Overloaded"),
            notes={"error": "Overloaded"},
        ),
        steps=(Run(may_fail=True),),
    ),
    single(
        "claude-max-tokens",
        turn(
            "stop at the limit",
            Answer((Say("This answer is cut"),), stop="max_tokens"),
            "and this is the rest.",
        ),
    ),
)
COMMANDS = (
    single(
        "claude-slash-command",
        turn(
            "/animal quoll",
            "The quoll is spotted.",
            seen_as="Tell me about the animal called quoll",
        ),
        steps=(SLASH_COMMAND, Run()),
    ),
    single(
        "claude-plan",
        turn(
            "make a plan for the koala",
            (bash("ls notes.md", "notes.md"),),
            (Call("ExitPlanMode", {"plan": "1. Plant eucalyptus"}, "", is_error=True),),
            "The koala plan is ready.",
        ),
        steps=(Run(arguments=("--permission-mode", "plan")),),
    ),
    single(
        "claude-compact",
        turn("remember the factor", "The factor is 4."),
        turn("remember the animal", "It is the wombat.", notes={"summary": "The factor is 4."}),
        turn("after the compaction, which animal", "Still the wombat."),
        steps=(Run(), Run(), Run(prompt="/compact keep the factor"), Run()),
        replies=(
            turn(
                "Your task is to create a detailed summary",
                Answer((Say("<summary>The factor is 4.</summary>"),), is_recorded=False),
            ),
        ),
    ),
)
SCENARIOS = (*ANSWERS, *TOOLS, *ERRORS, *COMMANDS)
