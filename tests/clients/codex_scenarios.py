"""Scenarios of Codex without a terminal, with a model that has ordinary tools."""

from typing import Any

from tests.clients.script import (
    Answer,
    AnyStep,
    Call,
    Ran,
    Run,
    Say,
    Scenario,
    Session,
    Think,
    Turn,
    turn,
)

PATCH = "*** Begin Patch\n*** Add File: {}\n+{}\n*** End Patch\n"
_WAIT_FOR_HELPER = (
    'until grep -rqs \'"last_agent_message":"Nine\' $HOME/.codex/sessions; do sleep 1; done;'
    " sleep 1; echo waited"
)
"""A sub-agent's report causes one more request if it comes after the last tool's result."""
_PRINT_EMUS = "python3 -c \"print('\\n'.join(f'emu line {i} ' + 'x' * 60 for i in range(3000)))\""


def execute(command: str, output: str = "", **fields: Any) -> Call:
    """Return a call that runs a command. Codex adds lines before its output."""
    more = {key: fields.pop(key) for key in ("yield_time_ms",) if key in fields}
    return Call("exec_command", {"cmd": command, **more}, output, **fields)


def single(name: str, *turns: Turn, steps: tuple[AnyStep, ...] = (), **fields: Any) -> Scenario:
    """Return a scenario of one session."""
    session = Session("main", turns, title=fields.pop("title", ""))
    return Scenario(name, "codex", (session,), steps, **fields)


def _spawn(name: str, options: dict[str, Any]) -> Scenario:
    """Return a scenario with a sub-agent, which may inherit the history of its parent."""
    task = "Helper: count the potoroos."
    call = Call("spawn_agent", {"message": task, **options}, "agent", namespace="multi_agent_v1")
    wait = execute(_WAIT_FOR_HELPER, "waited", yield_time_ms=30000)
    count = execute("echo nine", "nine")
    before = turn("hello before the helper", "Hello.")
    main = Session("main", (before, turn("spawn a helper", (call,), (wait,), "Nine, it says.")))
    own = turn(task, (count,), "Nine potoroos.")
    helper = Session("helper", (own,), kind="subagent", parent="main", title=task)
    return Scenario(name, "codex", (main, helper))


_STORY = (
    turn("why does the wombat test fail", (execute("echo 3", "3"),), "The factor is 3."),
    turn("correct the factor", "Corrected."),
)

ANSWERS = (
    single("codex-plain", turn("hello quokka", "Hello from the stub.")),
    single("codex-two-texts", turn("answer in two parts", (Say("Part one."), Say("Part two.")))),
    single(
        "codex-many-lines",
        turn("first line\n\n  second: 'é' \\ \"q\"", "One\n\n```\ntwo\n```"),
        title="first line",
    ),
    single(
        "codex-thinking",
        turn("think about bettongs", (Think("**Digging** bettongs"), Say("They dig."))),
        steps=(Run(arguments=("-c", "model_reasoning_summary=auto")),),
    ),
    single(
        "codex-stdin",
        turn("a prompt\nfrom stdin", "Read."),
        steps=(Run(stdin="a prompt\nfrom stdin"),),
        title="a prompt",
    ),
    single(
        "codex-image",
        turn("what is in this picture", "A red square.", images=1),
        steps=(Run(images=("$PROJECT/red.png",)),),
    ),
    single(
        "codex-error",
        turn(
            "provoke a bad request",
            Answer(status=400, error="scripted: the galah said no"),
            notes={"error": "the galah said no"},
        ),
        turn("what now", "The galah is behind us."),
        steps=(Run(may_fail=True), Run()),
    ),
    single(
        "codex-model-switch",
        turn("hello by the first", "First here."),
        turn("hello by the second", "Second here."),
        steps=(Run(), Run(arguments=("-m", "gpt-5.4"))),
    ),
)
TOOLS = (
    single(
        "codex-tools",
        turn(
            "why does the wombat test fail",
            (
                Say("I run the test."),
                execute("python3 test_wombat.py", "the wombat factor is wrong", is_error=True),
            ),
            (execute("echo passed", "passed"),),
            "The wombat factor must be 4.",
        ),
    ),
    single(
        "codex-several-tools",
        turn(
            "run three commands at once",
            (
                execute("echo one", "one"),
                execute("echo two", "two"),
                execute("exit 7", is_error=True),
            ),
            "One, two, seven.",
        ),
    ),
    single(
        "codex-patch",
        turn(
            "write a note by a patch",
            (Call("apply_patch", PATCH.format("fix.md", "The factor is 4."), "fix.md"),),
            (execute("cat fix.md", "The factor is 4."),),
            "The note is written.",
        ),
    ),
    single(
        "codex-failing-patch",
        turn(
            "patch what is not there",
            (
                Call(
                    "apply_patch",
                    "*** Begin Patch\n*** Update File: no.md\n-a\n+b\n*** End Patch\n",
                    "no.md",
                    is_error=True,
                ),
            ),
            "There is no such file.",
        ),
    ),
    single(
        "codex-unknown-tool",
        turn(
            "use a tool that does not exist",
            (Call("no_such_tool", {"x": 1}, "unsupported call", is_error=True),),
            "There is no such tool.",
        ),
    ),
    single(
        "codex-big-output",
        turn("print very much", (execute(_PRINT_EMUS, "emu line 0 xxx"),), "The emus were many."),
    ),
    single(
        "codex-view-image",
        turn(
            "view the picture file",
            (Call("view_image", {"path": "$PROJECT/red.png"}, images=1),),
            "It shows a red square.",
        ),
    ),
    single(
        "codex-goal",
        turn(
            "set a goal",
            (
                Call("create_goal", {"objective": "Find every bandicoot"}, "bandicoot"),
                Ran("goal_objective", None, "Find every bandicoot"),
            ),
            (Call("update_goal", {"status": "complete"}, "complete"),),
            "The goal is complete.",
        ),
    ),
    single(
        "codex-mcp",
        turn(
            "ask the zoo",
            (Call("count", {"animal": "numbat"}, "7 numbats", namespace="mcp__zoo"),),
            "Seven numbats.",
        ),
        settings={"mcp": True},
    ),
)
SESSIONS = (
    single("codex-resume", *_STORY, turn("and once more", (execute("echo 4", "4"),), "It is 4.")),
    single(
        "codex-resume-last",
        turn("begin the story", "Begun."),
        turn("go on with the story", "Gone on."),
        steps=(Run(), Run(is_latest=True)),
    ),
    Scenario(
        "codex-fork",
        "codex",
        (
            Session("main", (*_STORY, turn("back in the original", "Here."))),
            Session(
                "fork",
                (
                    turn("in the fork", "The wombat becomes a numbat."),
                    turn("second in the fork", "The numbat is striped."),
                ),
                forked_from="main",
            ),
        ),
        (
            Run(),
            Run(),
            Run("fork", "in the fork", fork="main"),
            Run("fork", "second in the fork"),
            Run(),
        ),
    ),
    _spawn("codex-subagent", {}),
    _spawn("codex-subagent-with-context", {"fork_context": True}),
)
SCENARIOS = (*ANSWERS, *TOOLS, *SESSIONS)
