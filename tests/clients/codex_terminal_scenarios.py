"""Scenarios of Codex in a terminal."""

from typing import Any

from tests.clients.codex_scenarios import execute
from tests.clients.script import (
    Answer,
    AnyStep,
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
    """Type a prompt, and wait for the end of the turn after its last answer."""
    texts = [part.text for answer in turn.answers for part in answer.parts if isinstance(part, Say)]
    return (Type(turn.prompt), Find(f'"last_agent_message":"{texts[-1]}"'))


def single(name: str, turns: tuple[Turn, ...], *steps: AnyStep, **fields: Any) -> Scenario:
    session = Session("main", turns, title=fields.pop("title", TITLE))
    return Scenario(name, "codex", (session,), (Open(), *steps, _wait_for_titles(1)), **fields)


def _wait_for_titles(count: int) -> Find:
    """Codex asks for the title of a session while it answers the first prompt."""
    return Find(f'"thread_name":"{TITLE}"', count)


_ONE = turn("the first prompt", "The first answer.")
_TWO = turn("the second prompt", "The second answer.")
_INSTEAD = turn("instead of that", "This instead.")
_SLOW = turn(
    "a slow kookaburra prompt",
    (
        Say("I wait."),
        execute(
            "while [ ! -e go ]; do sleep 0.1; done; echo it went", "it went", yield_time_ms=30000
        ),
    ),
)
_QUEUED = turn("a queued magpie prompt", "Both are answered.")
_TAIPAN = turn(
    "to be interrupted",
    (Say("I begin."), execute("sleep 600", "aborted by user", yield_time_ms=30000)),
    notes={"interrupted": ""},
)
_SUMMARY = turn("You are performing a CONTEXT CHECKPOINT", Answer((Say("Two prompts, in short."),)))
_STAY = (See("Use current Git worktree"), Press("Enter"), See("Ask Codex"))

SCENARIOS = (
    single("codex-tui-plain", (_ONE, _TWO), *ask(_ONE), *ask(_TWO)),
    single(
        "codex-tui-bash",
        (_ONE, turn("echo tarsier", notes={"command": "tarsier"}), _TWO),
        *ask(_ONE),
        Type("!echo tarsier"),
        Find("user_shell_command"),
        *ask(_TWO),
    ),
    single(
        "codex-tui-queue",
        (_SLOW, _QUEUED),
        Type(_SLOW.prompt),
        Find('"function_call"'),
        Type(_QUEUED.prompt),
        See("to be submitted after next tool call"),
        Write("$PROJECT/go"),
        Find("Both are answered."),
    ),
    single(
        "codex-tui-interrupt",
        (_TAIPAN, _TWO),
        Type(_TAIPAN.prompt),
        Find('"function_call"'),
        See("background terminal"),
        Press("Escape"),
        Find("turn_aborted"),
        *ask(_TWO),
    ),
    single(
        "codex-tui-rename",
        (_ONE, _TWO),
        *ask(_ONE),
        Type("/rename My lizard thread"),
        Find("My lizard thread"),
        *ask(_TWO),
        title="My lizard thread",
    ),
    single(
        "codex-tui-compact",
        (
            _ONE,
            turn(_TWO.prompt, *_TWO.answers, notes={"summary": "Two prompts, in short."}),
            _INSTEAD,
        ),
        *ask(_ONE),
        *ask(_TWO),
        Type("/compact"),
        Find('"compacted"'),
        *ask(_INSTEAD),
        replies=(_SUMMARY,),
    ),
    single(
        "codex-tui-rewind",
        (_ONE, turn(_TWO.prompt, *_TWO.answers, is_rolled_back=True), _INSTEAD),
        *ask(_ONE),
        *ask(_TWO),
        Press("Escape"),
        See("again to edit"),
        Press("Escape"),
        See("Browsing transcript"),
        Press("Enter"),
        See("The second answer.", is_gone=True),
        See(f"› {_TWO.prompt}"),
        Press("C-u"),
        *ask(_INSTEAD),
    ),
    Scenario(
        "codex-tui-new",
        "codex",
        (Session("main", (_ONE,), title=TITLE), Session("second", (_TWO,), title=TITLE)),
        (Open(), *ask(_ONE), Type("/new"), *_STAY, *ask(_TWO), _wait_for_titles(2)),
    ),
    Scenario(
        "codex-tui-fork",
        "codex",
        (
            Session("main", (_ONE,), title=TITLE),
            Session("fork", (_TWO,), forked_from="main", title=TITLE),
        ),
        (Open(), *ask(_ONE), Type("/fork"), *_STAY, *ask(_TWO), _wait_for_titles(2)),
    ),
)
