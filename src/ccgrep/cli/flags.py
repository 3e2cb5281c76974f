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

PROJECT = Option(("-p", "--project"), "part of the project's path", "value", "STR")
TIMES = "30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday"
FILTERS = (
    PROJECT,
    Option(("--here",), "only this directory's project"),
    Option(("-s", "--since"), f"turns begun at or after this time: {TIMES}", "value", "TIME"),
    Option(("--until",), "turns begun at or before this time", "value", "TIME"),
    Option(("--tool",), "turns that used this tool; any: some tool", "value", "NAME"),
    SOURCE,
    Option(
        ("--session",),
        "only this session; may be repeated; - reads REFs from standard input",
        "list",
        "REF",
    ),
    Option(("--branch",), "turns on this git branch", "value", "NAME"),
    Option(("--model-name",), "part of the name of the model that answered", "value", "STR"),
    Option(
        ("--subagents",),
        "include them (the default; a search ranks them below), only them, or exclude them",
        "value",
        "WHICH",
        ("include", "only", "exclude"),
    ),
    Option(("--max-sessions",), "only the N most recent sessions", "int", "N"),
)
"""Which turns are meant: the same for every command that looks at turns."""
COLOR = Option(
    ("--color", "--colour"),
    "colours: auto on a terminal (the default), always, never",
    "value",
    "WHEN",
    ("auto", "always", "never"),
)
NO_REFRESH = Option(("--no-refresh",), "only what is indexed, without looking for changes")
SEARCH_OPTIONS = (
    Option(("-e", "--regexp"), "a pattern; several are alternatives", "list", "PATTERN"),
    Option(("-F", "--fixed-strings"), "the text exactly as it stands"),
    Option(("-E", "--extended-regexp"), "a regular expression (RE2)"),
    Option(("-i", "--ignore-case"), "with -F and -E: without regard to case"),
    Option(("-w", "--word-regexp"), "with -F and -E: whole words only"),
    Option(("-v", "--invert-match"), "turns that do not match; means -F unless -E is given"),
    *FILTERS,
    Option(
        ("-t", "--type"),
        "only this kind of text; may be repeated",
        "list",
        "KIND",
        ("user", "assistant", "tool", "thinking"),
    ),
    Option(
        ("-n", "--limit", "-m", "--max-count"),
        "at most N hits; 0 is all; 10 for words, all for -F and -E",
        "int",
        "N",
    ),
    Option(("--per-session",), "at most N hits of one session", "int", "N"),
    Option(("-A", "--after-context"), "N turns after each hit", "int", "N"),
    Option(("-B", "--before-context"), "N turns before each hit", "int", "N"),
    Option(("-C", "--context"), "N turns before and after each hit", "int", "N"),
    Option(("-l", "--files-with-matches", "--sessions-with-matches"), "only session ids"),
    Option(
        ("-L", "--files-without-match", "--sessions-without-match"),
        "only ids of sessions that have no hit",
    ),
    Option(("-c", "--count"), "SESSION:COUNT for each session that has a hit"),
    Option(("-o", "--only-matching"), "each match alone; means -F unless -E is given"),
    Option(("-q", "--quiet", "--silent"), "print nothing; the exit status tells"),
    Option(("-0", "--null"), "end each record with NUL instead of a newline"),
    COLOR,
    Option(("--full-id",), "whole session ids"),
    Option(("--width",), "columns of a snippet (200)", "int", "N"),
    JSON,
    Option(("--jsonl",), "print one JSON object a hit"),
    NO_REFRESH,
    Option(("--no-index",), "read every turn instead of using the index: slow, the same answer"),
    Option(("--timeout",), "give up -F and -E after so many seconds (5); 0 never", "value", "S"),
)

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "search",
            "the turns that match (the default command)",
            "Prints one line a hit, SESSION:TURN:SCORE:SNIPPET, the best first. Words are found "
            "in any form and order, and all of them must be there; if no turn has all, those "
            'that have most. "a phrase" is found as it stands. A word that is also a command is '
            "searched for with `ccgrep search WORD` or `-e WORD`.",
            SEARCH_OPTIONS,
            (Argument("PATTERN", "what to search for; several words are one pattern", "*"),),
            examples=(
                ("ccgrep flaky login test", "where was that solved?"),
                ("ccgrep -l auth | ccgrep show -", "read the sessions that mention it"),
                ("ccgrep -F 'fatal: not a git repository' -t tool", "an error a tool printed"),
                (
                    "ccgrep retry | fzf --delimiter : --preview 'ccgrep show {1}:{2}'",
                    "choose among the hits",
                ),
            ),
            exit_status=((0, "something matched"), (1, "nothing matched"), (2, "trouble")),
        ),
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
                PROJECT,
                Option(("-s", "--since"), f"active at or after: {TIMES}", "value", "TIME"),
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
            "stats",
            "what was used, how often; permissions to allow",
            "Counts sessions, turns, tools and tokens; with WHAT tools, bash or tokens these in "
            "detail. Columns are separated by tabs when standard output is not a terminal. A "
            "turn that stands in several sessions counts once, and so do the tokens of a message.",
            (
                *FILTERS,
                Option(
                    ("--by",),
                    "tools: by project; tokens: by project, model, day or week alone",
                    "value",
                    "WHAT",
                    ("project", "model", "day", "week"),
                ),
                Option(
                    ("--suggest",),
                    "with bash: permission rules that are safe to allow, by how often they "
                    "would have been of use",
                ),
                Option(
                    ("--settings",),
                    "with bash --suggest: as a block for Claude Code's settings.json",
                ),
                Option(
                    ("-n", "--limit"),
                    "at most N lines of each kind; 0 is all; 10 on a terminal, else all",
                    "int",
                    "N",
                ),
                QUIET,
                COLOR,
                JSON,
                NO_REFRESH,
            ),
            (Argument("WHAT", "tools, bash or tokens; without it an overview", "*"),),
            examples=(
                ("ccgrep stats --since 7d", "what happened this week"),
                ("ccgrep stats tokens --by day --here", "what this project took, day by day"),
                ("ccgrep stats bash --suggest", "what need not be asked any more"),
            ),
            exit_status=((0, "success"), (1, "there is no such project"), (2, "trouble")),
        ),
        Command(
            "resume",
            "the command that resumes a session",
            "Prints the command that resumes a session where it was, in the directory where it "
            "began, or runs it.",
            (Option(("--exec",), "run it in place of ccgrep"),),
            (Argument("REF", "a session, as for `ccgrep show`; of a turn its session"),),
            examples=(("ccgrep resume 1f0c9a2e --exec", "go on where you were"),),
            exit_status=(
                (0, "it can be resumed"),
                (1, "its transcript or directory is gone"),
                (2, "trouble"),
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
