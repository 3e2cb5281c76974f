"""Scenarios of Claude Code in a terminal."""

from typing import Any

from tests.clients.claude_scenarios import SLASH_COMMAND, WAIT_FOR_FILE, bash
from tests.clients.script import (
    Answer,
    AnyStep,
    Call,
    Find,
    Open,
    Press,
    Quit,
    Say,
    Scenario,
    See,
    Session,
    Turn,
    Type,
    Write,
    turn,
)
from tests.clients.stub import TITLE

_ALL_ALLOWED = ("--dangerously-skip-permissions",)


def ask(turn: Turn) -> tuple[AnyStep, ...]:
    """Type a prompt, and wait for its last answer."""
    *_, last = (
        part.text for answer in turn.answers for part in answer.parts if isinstance(part, Say)
    )
    return (Type(turn.prompt), Find(f'"text":"{last}"'))


def single(name: str, turns: tuple[Turn, ...], *steps: AnyStep, **fields: Any) -> Scenario:
    """Return a scenario of one session, which Claude Code names by itself."""
    title = fields.pop("title", TITLE)
    session = Session("main", turns, title=title)
    start = Open(arguments=fields.pop("arguments", _ALL_ALLOWED))
    before = fields.pop("before", ())
    # Claude Code asks for the title while it answers the first prompt.
    after = (Find(TITLE),) if title == TITLE else ()
    return Scenario(name, "claude", (session,), (*before, start, *steps, *after), **fields)


_ONE = turn("the first prompt", "The first answer.")
_TWO = turn("the second prompt", "The second answer.")
_SLOW = turn(
    "a slow kookaburra prompt", (Say("I wait."), bash(WAIT_FOR_FILE, "the kookaburra went"))
)
_SUMMARY = turn(
    "Your task is to create a detailed summary",
    Answer((Say("<summary>Two prompts.</summary>"),), is_recorded=False),
)

_FILE = turn(
    "look at @notes.md please", "Three, it says.", notes={"context": "wombat factor is three"}
)
_BASH = turn("echo tarsier", "I see the tarsier.", notes={"command": "tarsier"})
_RUN_BASH = (Type("!echo tarsier"), Find("I see the tarsier."))
_SLASH = turn("/animal quoll", "It is spotted.", seen_as="Tell me about the animal called quoll")
_LYREBIRD = turn("a queued lyrebird prompt")
_MAGPIE = turn("a queued magpie prompt", "All three are answered.")
_TAIPAN = turn(
    "to be interrupted",
    (
        Say("I begin."),
        Call(
            "Bash",
            {"command": "until test -e no; do sleep 1; done", "description": "A scripted command"},
            "",
            is_error=True,
        ),
    ),
    notes={"interrupted": ""},
)
_UNDONE = turn("to be undone", "This is undone.", is_rolled_back=True)
_PLAN = turn(
    "make a plan for the koala",
    (Call("ExitPlanMode", {"plan": "1. Plant eucalyptus"}, "approved"),),
    (bash("echo planted", "planted"),),
    "The koala plan is done.",
)
_DENIED = turn(
    "use what is denied",
    (
        Call(
            "Bash",
            {"command": "touch denied", "description": "A scripted command"},
            "doesn't want to proceed",
            is_error=True,
        ),
    ),
    notes={"interrupted": ""},
)
_INSTEAD = turn("instead of that", "This instead.")

SCENARIOS = (
    single("claude-tui-plain", (_ONE, _TWO), *ask(_ONE), *ask(_TWO)),
    single("claude-tui-file", (_FILE,), *ask(_FILE)),
    single("claude-tui-bash", (_ONE, _BASH), *ask(_ONE), *_RUN_BASH),
    single("claude-tui-bash-first", (_BASH,), *_RUN_BASH, title=_BASH.prompt),
    single(
        "claude-tui-slash-command",
        (_ONE, _SLASH),
        *ask(_ONE),
        *ask(_SLASH),
        before=(SLASH_COMMAND,),
    ),
    single(
        "claude-tui-rename",
        (_ONE, _TWO),
        *ask(_ONE),
        Type("/rename My lizard session"),
        Find('"customTitle":"My lizard session"'),
        *ask(_TWO),
        title="My lizard session",
    ),
    single(
        "claude-tui-queue",
        (_SLOW, _LYREBIRD, _MAGPIE),
        Type(_SLOW.prompt),
        Find('"tool_use"'),
        Type(_LYREBIRD.prompt),
        Find('"enqueue"', 1),
        Type(_MAGPIE.prompt),
        Find('"enqueue"', 2),
        Write("$PROJECT/go"),
        Find("All three are answered."),
    ),
    single(
        "claude-tui-interrupt",
        (_TAIPAN, _TWO),
        Type(_TAIPAN.prompt),
        Find('"tool_use"'),
        See("Running"),
        Press("Escape"),
        Find("Request interrupted"),
        *ask(_TWO),
    ),
    single(
        "claude-tui-rewind",
        (_ONE, _UNDONE, _INSTEAD),
        *ask(_ONE),
        *ask(_UNDONE),
        Type("/rewind"),
        See("❯ (current)"),
        Press("Up"),
        See("❯ (current)", is_gone=True),
        Press("Enter"),
        See("❯ 1. Restore conversation"),
        Press("Enter"),
        See("This is undone.", is_gone=True),
        See(_UNDONE.prompt),
        Press("C-u"),
        *ask(_INSTEAD),
    ),
    single(
        "claude-tui-compact",
        (_ONE, turn(_TWO.prompt, *_TWO.answers, notes={"summary": "Two prompts."}), _INSTEAD),
        *ask(_ONE),
        *ask(_TWO),
        Type("/compact"),
        Find("compact_boundary"),
        *ask(_INSTEAD),
        replies=(_SUMMARY,),
    ),
    single(
        "claude-tui-denied",
        (_DENIED, _TWO),
        Type(_DENIED.prompt),
        See("Do you want to proceed?"),
        Press("Escape"),
        Find("Request interrupted"),
        *ask(_TWO),
        arguments=("--permission-mode", "default"),
    ),
    single(
        "claude-tui-resume",
        (_ONE, _TWO, _INSTEAD),
        *ask(_ONE),
        Quit(),
        Open(arguments=_ALL_ALLOWED),
        See("The first answer."),
        *ask(_TWO),
        *ask(_INSTEAD),
    ),
    single(
        "claude-tui-plan",
        (_PLAN,),
        Type(_PLAN.prompt),
        See("Exit plan mode?"),
        Press("Enter"),
        Find("The koala plan is done."),
        arguments=("--permission-mode", "plan"),
    ),
    Scenario(
        "claude-tui-clear",
        "claude",
        (
            Session("main", (_ONE,), title=TITLE),
            Session("second", (_TWO,), title=TITLE),
        ),
        (
            Open(arguments=_ALL_ALLOWED),
            *ask(_ONE),
            Find(TITLE),
            Type("/clear"),
            See("The first answer.", is_gone=True),
            *ask(_TWO),
        ),
    ),
)
