"""The one table of commands and options; parser, help, man pages and completions follow it."""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Live = Literal["", "ref", "session", "project", "tool", "branch", "model", "file", "dir"]


class Option(NamedTuple):
    """`kind` is what the option takes: nothing, one value, or one value each time; `live` where
    a shell finds values that the table cannot know."""

    names: tuple[str, ...]
    help: str
    kind: Literal["flag", "value", "list", "int"] = "flag"
    metavar: str = ""
    choices: tuple[str, ...] = ()
    live: Live = ""


class Argument(NamedTuple):
    name: str
    help: str
    repeat: Literal["1", "?", "*", "+"] = "1"
    choices: tuple[str, ...] = ()
    is_dashed: bool = False  # it may begin with a dash: what is no option's name is meant by it
    live: Live = ""


class Command(NamedTuple):
    """`common` are the options that `-h` explains when all of them are too many for a screen."""

    name: str
    summary: str
    description: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    exit_status: tuple[tuple[int, str], ...] = ((0, "success"), (2, "trouble"))
    common: tuple[str, ...] = ()


HELP = Option(("-h", "--help"), "show help: -h one screen, --help all of it")
VERSION = Option(("-V", "--version"), "print the version")
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
    live="dir",
)
REFS = Argument(
    "REF",
    "a session id, SESSION:TURN, or @ and a turn's id; any unique prefix will do; - reads "
    "REFs or record lines from standard input",
    "+",
    live="ref",
)

COLOR = Option(
    ("--color", "--colour"),
    "colours: auto on a terminal (the default), always, never",
    "value",
    "WHEN",
    ("auto", "always", "never"),
)
NO_REDACT = Option(
    ("--no-redact",),
    "show secrets; without it what looks like a key or a password is printed as [redacted:NAME]",
)
NO_REFRESH = Option(("--no-refresh",), "go by what is indexed, without looking for changes")
FULL_ID = Option(("--full-id",), "whole session ids")
BUDGET = Option(
    ("--budget",),
    "print at most N characters, and say on standard error what was left out",
    "int",
    "N",
)
CONTEXT = (
    Option(("-A", "--after-context"), "N turns after the one that is meant", "int", "N"),
    Option(("-B", "--before-context"), "N turns before the one that is meant", "int", "N"),
    Option(("-C", "--context"), "N turns on either side", "int", "N"),
)
WHOLE = (
    Option(("--tools",), "include tool calls"),
    Option(("--thinking",), "include thinking"),
)
TIMES = "30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday"
FILTERS = (
    Option(("-p", "--project"), "part of the project's path", "value", "STR", live="project"),
    Option(("--here",), "only this directory's project"),
    Option(("-s", "--since"), f"turns begun at or after this time: {TIMES}", "value", "TIME"),
    Option(("--until",), "turns begun at or before this time", "value", "TIME"),
    Option(("--tool",), "turns that used this tool; any: some tool", "value", "NAME", live="tool"),
    SOURCE,
    Option(
        ("--session",),
        "only this session; may be repeated; - reads REFs from standard input",
        "list",
        "REF",
        live="session",
    ),
    Option(("--branch",), "turns on this git branch", "value", "NAME", live="branch"),
    Option(
        ("--model-name",),
        "part of the name of the model that answered",
        "value",
        "STR",
        live="model",
    ),
    Option(
        ("--subagents",),
        "include them (the default; a search ranks them below), only them, or exclude them",
        "value",
        "WHICH",
        ("include", "only", "exclude"),
    ),
    Option(("--max-sessions",), "only the N most recent sessions", "int", "N"),
)
"""Which turns are meant: `cli.filters` makes Filters of them."""
MODEL = Option(
    ("--model",),
    "the embedding model, by name or directory",
    "value",
    "NAME",
    live="dir",
)
SEMANTIC = Option(("--semantic",), "rank by meaning")
TYPE = Option(
    ("-t", "--type"),
    "only this kind of text; may be repeated",
    "list",
    "KIND",
    ("user", "assistant", "tool", "thinking"),
)
SEARCH_OPTIONS = (
    Option(("-e", "--regexp"), "a pattern; several are alternatives", "list", "PATTERN"),
    Option(("-F", "--fixed-strings"), "the text exactly as it stands"),
    Option(("-E", "--extended-regexp"), "a regular expression (RE2)"),
    Option(("-i", "--ignore-case"), "with -F and -E: without regard to case"),
    Option(("-w", "--word-regexp"), "with -F and -E: whole words only"),
    SEMANTIC,
    Option(("--hybrid",), "rank by words and meaning together"),
    Option(
        ("--surface",),
        "by meaning: compare only what was asked, the last answer, or all answers (which are "
        "embedded only if `surfaces` is set to it); may be repeated",
        "list",
        "SIDE",
        ("prompt", "answer", "full"),
    ),
    Option(("--alpha",), "the weight of meaning in --hybrid, from 0 to 1 (0.5)", "value", "WEIGHT"),
    MODEL,
    Option(("-v", "--invert-match"), "turns that do not match; means -F unless -E is given"),
    TYPE,
    *FILTERS,
    Option(
        ("-n", "--limit", "-m", "--max-count"),
        "at most N hits; 0 is all; 10 for words, all for -F and -E",
        "int",
        "N",
    ),
    Option(("--per-session",), "at most N hits of one session", "int", "N"),
    Option(
        ("--include-self",),
        "inside an agent: also the session that asks, and what ccgrep printed in others",
    ),
    *CONTEXT,
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
    FULL_ID,
    Option(("--width",), "columns of a snippet (200)", "int", "N"),
    BUDGET,
    JSON,
    Option(("--jsonl",), "print one JSON object a hit"),
    NO_REDACT,
    Option(("--explain",), "say on standard error what each score is made of"),
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
            (*SEARCH_OPTIONS, VERSION),
            (Argument("PATTERN", "what to search for; several words are one pattern", "*"),),
            examples=(
                ("ccgrep flaky login test", "where was that solved?"),
                ("ccgrep -l auth | ccgrep show -", "read the sessions that mention it"),
                ("ccgrep -F 'jwt expired' -t tool", "an error that a tool printed"),
                (
                    "ccgrep retry | fzf --delimiter : --preview 'ccgrep show {1}:{2}'",
                    "choose among the hits",
                ),
            ),
            exit_status=((0, "something matched"), (1, "nothing matched"), (2, "trouble")),
            common=tuple("-F -E -t -p --since --tool --semantic -n -l --json".split()),
        ),
        Command(
            "pick",
            "search as you type, in fzf",
            "Searches while you type and shows the turn that is chosen, the match in view. Enter "
            "prints its record line, Ctrl-T goes from words to meaning and back, Ctrl-R resumes "
            "the session, Ctrl-Y copies SESSION:TURN, Ctrl-O opens the session as a page in the "
            "browser. What is chosen is printed after the terminal is free again, so it can be "
            "part of a pipe. Needs fzf 0.35 or later.",
            (
                Option(
                    ("--commands",),
                    "choose among the shell commands that agents ran, and print one",
                ),
                SEMANTIC,
                TYPE,
                *FILTERS,
                NO_REDACT,
            ),
            (Argument("PATTERN", "what to begin with", "*"),),
            examples=(
                ("ccgrep pick flaky | ccgrep show -", "choose a turn, read it"),
                ("ccgrep pick --commands --tool Bash", "that command from last month"),
            ),
            exit_status=(
                (0, "something was chosen"),
                (2, "trouble; fzf is not installed"),
                (130, "nothing was chosen"),
            ),
            common=tuple("--commands --semantic -t -p --here --since --session".split()),
        ),
        Command(
            "index",
            "take in what changed",
            "Reads what was appended to the transcripts of Claude Code and Codex since the last "
            "run and keeps every turn in the store. Nothing is ever removed because a "
            "transcript is gone. Then embeds what is new, the newest first, if there is a model: "
            "that can be interrupted, and goes on next time.",
            (
                Option(("--full",), "read every transcript again"),
                Option(
                    ("--recreate",),
                    "set the store aside and build it anew, keeping turns whose transcript is gone",
                ),
                Option(
                    ("--watch",),
                    "then go on taking in what changes, until interrupted; needs ccgrep[mcp]",
                ),
                Option(("--no-embed",), "take in, but embed nothing"),
                Option(("--embed-all",), "embed all turns, not only those of the last 90 days"),
                Option(("--embed-since",), "embed turns begun after this time", "value", "TIME"),
                MODEL,
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
            "tabs when standard output is not a terminal. A session is listed if it has a turn "
            "that passes the filters.",
            (
                *FILTERS,
                Option(
                    ("--tree",),
                    "each with the sub-agents that served it and its forks below it",
                ),
                Option(
                    ("-n", "--limit"),
                    "at most N sessions, or trees; 0 is all; 20 on a terminal, else all",
                    "int",
                    "N",
                ),
                COLOR,
                NO_REDACT,
                JSON,
            ),
            examples=(
                ("ccgrep list --since 7d", "what happened this week"),
                ("ccgrep list | fzf | cut -f1 | ccgrep show -", "choose a session and read it"),
                ("ccgrep list --tree -p shopfront", "who served whom in a project"),
            ),
            common=tuple("-p --here --since --until --tree -n --json".split()),
        ),
        Command(
            "show",
            "a turn or a session as conversation",
            "Prints a session, or one turn of it, as conversation; on a terminal through a pager "
            "($PAGER, else less) when it is long.",
            (
                *WHOLE,
                *CONTEXT,
                Option(("--raw",), "each turn's object as it is stored, as JSON, one a line"),
                Option(
                    ("--save",),
                    "write Markdown to ~/.claude/recalls, one file a REF, and print its path",
                ),
                BUDGET,
                Option(("--no-pager",), "print it all at once, on a terminal too"),
                COLOR,
                NO_REDACT,
                JSON,
            ),
            (REFS,),
            examples=(
                ("ccgrep show f8a5fac0", "the session whose id begins like this"),
                ("ccgrep show f8a5fac0:3 --tools", "its fourth turn, with what the agent did"),
                ("ccgrep show f8a5fac0:3 -C2", "that turn and two on either side"),
                ("ccgrep show f8a5fac0 --save", "keep it where Claude Code finds it"),
            ),
        ),
        Command(
            "export",
            "conversations as Markdown, an HTML page or JSON",
            "Writes sessions, or turns of them, as one document: Markdown, an HTML page that needs "
            "neither network nor scripts, or JSON.",
            (
                Option(
                    ("-f", "--format"),
                    "the form; without it what the name of FILE tells, else md",
                    "value",
                    "FORM",
                    ("md", "html", "json"),
                ),
                Option(
                    ("-o", "--output"),
                    "write FILE instead of printing",
                    "value",
                    "FILE",
                    live="file",
                ),
                *WHOLE,
                NO_REDACT,
            ),
            (REFS,),
            examples=(
                ("ccgrep export f8a5fac0 --tools -o auth.html", "a page to read or to send"),
                ("ccgrep -l auth | ccgrep export - > auth.md", "every session that mentions it"),
            ),
        ),
        Command(
            "blame",
            "the turns that read or changed a file",
            "Prints a record line for each turn that read, wrote or edited a file, the newest "
            "first. It goes by what tools were given: what a shell command did is not known.",
            (
                Option(
                    ("-L", "--line"),
                    "only the turn that wrote line N of the file as it is now, where that can be "
                    "told",
                    "int",
                    "N",
                ),
                *FILTERS,
                Option(("-n", "--limit"), "at most N turns; 0 is all, as without it", "int", "N"),
                FULL_ID,
                COLOR,
                NO_REFRESH,
                NO_REDACT,
                JSON,
            ),
            (Argument("FILE", "a path, or the end of one: src/auth/jwt.ts, jwt.ts", live="file"),),
            examples=(
                ("ccgrep blame src/auth/jwt.ts", "who touched it, and what for?"),
                ("ccgrep blame -L 21 src/auth/jwt.ts | ccgrep show - --tools", "why is it so?"),
            ),
            exit_status=(
                (0, "some turn did"),
                (1, "none did, or it cannot be told who wrote the line"),
                (2, "trouble"),
            ),
            common=tuple("-L -p --since --tool --session -n --json".split()),
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
                NO_REDACT,
                NO_REFRESH,
            ),
            (
                Argument(
                    "WHAT",
                    "tools, bash or tokens; without it an overview",
                    "*",
                    ("tools", "bash", "tokens"),
                ),
            ),
            examples=(
                ("ccgrep stats --since 7d", "what happened this week"),
                ("ccgrep stats tokens --by day -p shopfront", "what a project took, day by day"),
                ("ccgrep stats bash --suggest", "what need not be asked any more"),
            ),
            exit_status=((0, "success"), (1, "there is no such project"), (2, "trouble")),
            common=tuple("--by --suggest -p --here --since --until -n --json".split()),
        ),
        Command(
            "resume",
            "the command that resumes a session",
            "Prints the command that resumes a session where it was, in the directory where it "
            "began, or runs it.",
            (Option(("--exec",), "run it in place of ccgrep"), NO_REDACT),
            (
                Argument(
                    "REF", "a session, as for `ccgrep show`; of a turn its session", live="session"
                ),
            ),
            examples=(("ccgrep resume f8a5fac0 --exec", "go on where you were"),),
            exit_status=(
                (0, "it can be resumed"),
                (1, "its transcript or directory is gone"),
                (2, "trouble"),
            ),
        ),
        Command(
            "mcp",
            "MCP server on standard input and output",
            "Serves the tools search_conversations, list_conversations, read_turn and "
            "read_conversation to an agent, over the same store and with the same answers as the "
            "command line, and takes in what changes meanwhile. It ends when standard input is "
            "closed. `ccgrep setup` registers it with an agent. Secrets are redacted in every "
            "reply, whatever is set.",
            (Option(("--no-redact",), "show secrets to the agent"),),
            (
                Argument(
                    "GLOB",
                    "only project directories of Claude Code with such a name, as "
                    "'-home-me-work-*'; without it every session of every agent",
                    "?",
                    is_dashed=True,
                ),
            ),
            examples=(("ccgrep mcp '-home-me-work-*'", "serve the projects below ~/work"),),
        ),
        Command(
            "model",
            "which embedding model is used",
            "Says which model searches by meaning use, where it comes from and what it does. "
            "`ccgrep model pull NAME` downloads one; nothing else ever does.",
            (MODEL, JSON),
            (Argument("WORDS", "`pull` and the name of a model to download", "*", ("pull",)),),
            examples=(
                ("ccgrep model", "the model that is used"),
                ("ccgrep model pull BAAI/bge-small-en-v1.5", "download another one"),
            ),
        ),
        Command(
            "settings",
            "what is set, and where",
            "Prints each key of the configuration with the value that holds and where it came "
            "from: a variable, the configuration file, or the default. The file is "
            "~/.config/ccgrep/config.toml, or the one that CCGREP_CONFIG names; variables stand "
            "above it, and options above both.",
            (JSON,),
            examples=(("ccgrep settings | grep -v 'default$'", "what is not as it comes"),),
        ),
        Command(
            "setup",
            "install ccgrep into an agent or a shell, or take it away",
            "`ccgrep setup claude` and `ccgrep setup codex` give the agent a skill that says when "
            "and how to search, and register the MCP server. What changes is shown; what stood "
            "in a settings file before is kept beside it, and one that is not valid is left as "
            "it is. `ccgrep setup shell` installs completions for bash, zsh and fish, as far as "
            "they are there, and two keys: Ctrl-G inserts the REF of a turn that you pick, Alt-G "
            "a command that an agent ran. It writes files of its own, and one marked block each "
            "into ~/.bashrc and ~/.zshrc.",
            (
                Option(("--dry-run",), "say what would be written, and write nothing"),
                Option(("--remove",), "take away what was installed, and nothing else"),
                Option(("--hook",), "claude: also take in a session when it ends"),
            ),
            (Argument("WHAT", "what to set up", choices=("claude", "codex", "shell")),),
            examples=(
                ("ccgrep setup claude --dry-run", "what would change?"),
                ("ccgrep setup claude", "ask Claude about last week from now on"),
                ("ccgrep setup shell", "press Tab from now on"),
            ),
        ),
        Command(
            "completions",
            "print the completions of a shell",
            "Prints what makes a shell complete commands, options and their values; with --keys "
            "also the keys that `ccgrep setup shell` installs.",
            (Option(("--keys",), "the keys too: Ctrl-G inserts a REF, Alt-G a past command"),),
            (Argument("SHELL", "which shell", choices=("bash", "zsh", "fish")),),
            examples=(
                ('eval "$(ccgrep completions bash --keys)"', "for this shell alone"),
                ("ccgrep completions fish > ccgrep.fish", "to put where fish looks"),
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
            examples=(
                ("ccgrep fsck", "is every byte as it was written?"),
                ("ccgrep fsck --repair", "mend what can be mended"),
            ),
            exit_status=((0, "the store is whole"), (1, "something is lost"), (2, "trouble")),
        ),
        Command(
            "gc",
            "fold packs and drop what nothing refers to",
            "Folds small packs into larger ones and drops objects that no session refers to.",
            (NO_WAIT, JSON),
            examples=(("ccgrep gc", "tidy up; it is never necessary"),),
        ),
        Command(
            "secrets",
            "which secrets are in the store, and where",
            "Looks through every turn for what has the shape of a key, a token or a password, and "
            "prints SESSION:TURN:RULE:FINGERPRINT for each, never the secret itself. The "
            "fingerprint is the beginning of its SHA-256: the same for the same secret wherever it "
            "stands. What has no known shape is not found.",
            (*FILTERS, FULL_ID, QUIET, NO_REFRESH, JSON),
            examples=(
                ("ccgrep secrets --since 30d", "what was pasted, printed or read this month"),
                ("ccgrep secrets | cut -d: -f3 | sort | uniq -c", "how many of which kind"),
            ),
            exit_status=((0, "there are secrets"), (1, "none was found"), (2, "trouble")),
            common=tuple("-p --here --since --session --full-id --json".split()),
        ),
        Command(
            "forget",
            "remove a session for good",
            "Removes everything that ccgrep holds of a session and of the sub-agents that "
            "served it, and does not take it in again. Turns that another session shares stay "
            "there. The transcript itself is not touched.",
            (NO_WAIT, JSON),
            (REFS,),
            examples=(("ccgrep forget f8a5fac0", "as if that session had never been"),),
        ),
    )
}
