"""The one table of commands and options; parser, help, man pages and completions follow it."""

from typing import Literal, NamedTuple


class Option(NamedTuple):
    """`kind` is what the option takes: nothing, one value, or one value each time."""

    names: tuple[str, ...]
    help: str
    kind: Literal["flag", "value", "list", "int"] = "flag"
    metavar: str = ""
    choices: tuple[str, ...] = ()


class Argument(NamedTuple):
    name: str
    help: str
    repeat: Literal["1", "*", "+"] = "1"


class Command(NamedTuple):
    name: str
    summary: str
    description: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    exit_status: tuple[tuple[int, str], ...] = ((0, "success"), (2, "trouble"))


JSON = Option(("--json",), "print one JSON object, with a schema version")
QUIET = Option(("-q", "--quiet"), "say nothing but errors")
VERBOSE = Option(("-v", "--verbose"), "name files")
NO_WAIT = Option(("--no-wait",), "fail at once when another ccgrep is writing to the store")
SOURCE = Option(
    ("--source",),
    "only this agent's sessions",
    "value",
    "AGENT",
    ("claude-code", "claude_code", "codex"),
)
ROOT = Option(
    ("--root",),
    "read this directory instead of the usual ones: a home, or a directory such as ~/.claude "
    "or ~/.codex; may be repeated",
    "list",
    "DIR",
)
REFS = Argument(
    "REF",
    "a session id, SESSION:TURN, or @ and a turn's id; any unique prefix will do; - reads "
    "REFs or record lines from standard input",
    "+",
)

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "index",
            "take in what changed",
            "Reads what was appended to the transcripts of Claude Code and Codex since the last "
            "run and keeps every turn in the store. Nothing is ever removed because a "
            "transcript is gone.",
            (
                Option(("--full",), "read every transcript again"),
                Option(
                    ("--recreate",),
                    "set the store aside and build it anew, keeping turns whose transcript is gone",
                ),
                SOURCE,
                ROOT,
                NO_WAIT,
                QUIET,
                VERBOSE,
                JSON,
            ),
            examples=(
                ("ccgrep index", "bring the store up to date"),
                ("ccgrep index --root /mnt/backup/home/me", "take in the sessions of a backup"),
            ),
            exit_status=((0, "success"), (2, "trouble"), (130, "interrupted")),
        ),
        Command(
            "status",
            "what is indexed, how far behind, how large",
            "Says how many sessions and turns the store holds, how large it is, and which "
            "transcripts have changed since the last run.",
            (ROOT, VERBOSE, JSON),
            examples=(("ccgrep status --json | jq .behind", "how much is still to be read"),),
        ),
        Command(
            "list",
            "sessions, most recent first",
            "Prints one session a line: id, age, project, number of turns, title; separated by "
            "tabs when standard output is not a terminal.",
            (
                Option(("-p", "--project"), "part of the project's path", "value", "STR"),
                Option(
                    ("-s", "--since"),
                    "active at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, "
                    "2026-01-15T10:30, yesterday",
                    "value",
                    "TIME",
                ),
                Option(("--until",), "begun at or before this time", "value", "TIME"),
                SOURCE,
                Option(
                    ("-n", "--limit"),
                    "at most N sessions; 0 is all; 20 on a terminal, else all",
                    "int",
                    "N",
                ),
                JSON,
            ),
            examples=(
                ("ccgrep list --since 7d", "what happened this week"),
                ("ccgrep list | fzf | cut -f1 | ccgrep show -", "choose a session and read it"),
            ),
        ),
        Command(
            "show",
            "a turn or a session as conversation",
            "Prints a session, or one turn of it, as conversation.",
            (
                Option(("--tools",), "include tool calls"),
                Option(("--thinking",), "include thinking"),
                JSON,
            ),
            (REFS,),
            examples=(
                ("ccgrep show 1f0c9a2e", "the session whose id begins like this"),
                ("ccgrep show 1f0c9a2e:3 --tools", "its fourth turn, with what the agent did"),
            ),
        ),
        Command(
            "fsck",
            "verify every object, pack and manifest",
            "Reads every byte of the store and compares it with its name. Names what is lost "
            "and counts what is only dangling.",
            (
                Option(
                    ("--repair",),
                    "rebuild what can be, and read lost turns again from their transcripts",
                ),
                ROOT,
                NO_WAIT,
                JSON,
            ),
            exit_status=((0, "the store is whole"), (1, "something is lost"), (2, "trouble")),
        ),
        Command(
            "gc",
            "fold packs and drop what nothing refers to",
            "Folds small packs into larger ones and drops objects that no session refers to.",
            (NO_WAIT, JSON),
        ),
        Command(
            "forget",
            "remove a session for good",
            "Removes everything that ccgrep holds of a session and of the sub-agents that "
            "served it, and does not take it in again. Turns that another session shares stay "
            "there. The transcript itself is not touched.",
            (NO_WAIT, JSON),
            (REFS,),
        ),
    )
}
