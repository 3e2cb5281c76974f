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


def ask(turn: Turn) -> tuple[AnyStep, ...]:
    """Type a prompt, and wait for its last answer."""
    *_, last = (
        part.text for answer in turn.answers for part in answer.parts if isinstance(part, Say)
    )
    return (Type(turn.prompt), Find(f'"text":"{last}"'))


def single(name: str, turns: tuple[Turn, ...], *steps: AnyStep, **fields: Any) -> Scenario:
    """Return a scenario of one session, which Claude Code names by itself."""
    session = Session("main", turns, title=fields.pop("title", TITLE))
    before = fields.pop("before", ())
    return Scenario(name, "claude", (session,), (*before, Open(), *steps), **fields)


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
_BASH = turn("!echo tarsier", "I see the tarsier.", seen_as="<bash-input>echo tarsier")
_SLASH = turn("/animal quoll", "It is spotted.", seen_as="Tell me about the animal called quoll")
_LYREBIRD = turn("a queued lyrebird prompt")
_MAGPIE = turn("a queued magpie prompt", "All three are answered.")
_TAIPAN = turn(
    "to be interrupted",
    (
        Say("I begin."),
        Call(
            "Bash",
            {"command": "sleep 600", "description": "A scripted command"},
            "",
            is_error=True,
        ),
    ),
    notes={"interrupted": ""},
)
_UNDONE = turn("to be undone", "This is undone.", is_rolled_back=True)
_INSTEAD = turn("instead of that", "This instead.")

SCENARIOS = (
    single("claude-tui-plain", (_ONE, _TWO), *ask(_ONE), *ask(_TWO)),
    single("claude-tui-file", (_FILE,), *ask(_FILE)),
    single("claude-tui-bash", (_ONE, _BASH), *ask(_ONE), *ask(_BASH)),
    single("claude-tui-bash-first", (_BASH,), *ask(_BASH), title=_BASH.prompt),
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
        Press(("Escape",)),
        Find("Request interrupted"),
        *ask(_TWO),
    ),
    single(
        "claude-tui-rewind",
        (_ONE, _UNDONE, _INSTEAD),
        *ask(_ONE),
        *ask(_UNDONE),
        Type("/rewind"),
        See("Rewind"),
        Press(("Up", "Enter")),
        See("Restore"),
        Press(("Enter",)),
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
    Scenario(
        "claude-tui-clear",
        "claude",
        (
            Session("main", (_ONE,), title=TITLE),
            Session("second", (_TWO,), title=TITLE),
        ),
        (Open(), *ask(_ONE), Type("/clear"), See("/clear"), *ask(_TWO)),
    ),
)
