"""Scenarios of Claude Code without a terminal: sub-agents, forks, worktrees, resumed sessions."""

from typing import Any

from tests.clients.claude_scenarios import bash, single
from tests.clients.script import Call, Run, Say, Scenario, Session, Turn, turn


def agent(description: str, prompt: str, output: str, **input: Any) -> Call:
    """Return a call of the tool that starts a sub-agent and, unless told otherwise, waits for it.

    Without `run_in_background`, releases after 2.1.300 do not wait.
    """
    kind = input.pop("subagent_type", "general-purpose")
    fields = {"description": description, "prompt": prompt, "subagent_type": kind}
    fields |= {"run_in_background": False, **input}
    return Call("Agent", fields, output)


def subagent(title: str, *turns: Turn, **fields: Any) -> Session:
    """Return the session of a sub-agent, whose title is its description."""
    more = {"parent": "main", "agent": "general-purpose", **fields}
    return Session(title, turns, kind="subagent", title=title, **more)


_STORY = (
    turn("why does the wombat test fail", (bash("echo 3", "3"),), "The factor is 3."),
    turn("correct the factor", "Corrected."),
)

AGENTS = (
    Scenario(
        "claude-subagent",
        "claude",
        (
            Session(
                "main",
                (
                    turn(
                        "ask an explorer about kangaroos",
                        (
                            Say("I send an explorer."),
                            agent(
                                "Count kangaroos",
                                "Explorer: count them.",
                                "Seven kangaroos.",
                                subagent_type="Explore",
                            ),
                        ),
                        "The explorer counted seven.",
                    ),
                ),
            ),
            subagent(
                "Count kangaroos",
                turn(
                    "Explorer: count them.",
                    (bash("echo seven on the plain", "seven on the plain"),),
                    "Seven kangaroos.",
                ),
                agent="Explore",
            ),
        ),
    ),
    Scenario(
        "claude-parallel-agents",
        "claude",
        (
            Session(
                "main",
                (
                    turn(
                        "send two agents at once",
                        (
                            agent("Agent one", "Say your number: ONE", "Platypus one."),
                            agent("Agent two", "Say your number: TWO", "Platypus two."),
                        ),
                        "A pair of platypuses.",
                    ),
                ),
            ),
            subagent("Agent one", turn("Say your number: ONE", "Platypus one.")),
            subagent("Agent two", turn("Say your number: TWO", "Platypus two.")),
        ),
    ),
    Scenario(
        "claude-background-agent",
        "claude",
        (
            Session(
                "main",
                (
                    turn(
                        "an agent in the background",
                        (
                            agent(
                                "Slow agent",
                                "Think of an echidna.",
                                "launched",
                                run_in_background=True,
                            ),
                        ),
                        "It runs in the background.",
                        "It said echidna.",
                    ),
                ),
            ),
            subagent(
                "Slow agent",
                turn("Think of an echidna.", (bash("sleep 1; echo spiny", "spiny"),), "Echidna."),
            ),
        ),
    ),
    Scenario(
        "claude-nested-agents",
        "claude",
        (
            Session(
                "main",
                (
                    turn(
                        "send an agent that sends one",
                        (
                            agent(
                                "Outer agent", "Outer: send another.", "The inner one says gecko."
                            ),
                        ),
                        "Gecko, says the inner agent.",
                    ),
                ),
            ),
            subagent(
                "Outer agent",
                turn(
                    "Outer: send another.",
                    (agent("Inner agent", "Inner: name a lizard.", "Gecko."),),
                    "The inner one says gecko.",
                ),
            ),
            subagent("Inner agent", turn("Inner: name a lizard.", "Gecko."), parent="Outer agent"),
        ),
    ),
)
SESSIONS = (
    single("claude-resume", *_STORY, turn("and once more", (bash("echo 4", "4"),), "It is 4.")),
    single(
        "claude-continue",
        turn("begin the story", "Begun."),
        turn("go on with the story", "Gone on."),
        steps=(Run(), Run(is_latest=True)),
    ),
    Scenario(
        "claude-fork",
        "claude",
        (
            Session("main", (*_STORY, turn("back in the original", "Here."))),
            Session(
                "fork",
                (
                    *_STORY,
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
    single(
        "claude-worktree-tool",
        turn(
            "edit in a worktree",
            (Call("EnterWorktree", {"name": "possum"}, "worktree"),),
            (bash("pwd", "$PROJECT/.claude/worktrees/possum"),),
            (Call("ExitWorktree", {"action": "keep"}, "worktree"),),
            "The worktree is kept.",
        ),
    ),
    single(
        "claude-worktree-flag",
        turn(
            "hello in a worktree",
            (bash("pwd", "$PROJECT/.claude/worktrees/wallaby"),),
            "A wallaby.",
        ),
        steps=(Run(arguments=("--worktree", "wallaby")),),
    ),
)
SCENARIOS = (*AGENTS, *SESSIONS)
