"""The one table of commands and options.

The parser, `-h`, `--help`, the man pages and the shell completions are all derived from it.
After a change, run `scripts/generate`.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.sources.registry import SOURCES

if TYPE_CHECKING:
    from typing import Literal

    Completion = Literal[
        "",
        "ref",
        "session",
        "project",
        "tool",
        "branch",
        "model",
        "machine",
        "remote",
        "tag",
        "mark",
        "commit",
        "file",
        "dir",
    ]


class Option(NamedTuple):
    """An option of a command.

    The first sentence of `help` is for `-h` and completions, all of it for `--help` and the man
    page. `value` is the placeholder of the option's value: empty for a flag, `N` for a number,
    and with a final `…` if the option can be repeated. `completion` names the values that the
    shell asks ccgrep or the file system for.
    """

    names: tuple[str, ...]
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    completion: Completion = ""

    @property
    def summary(self) -> str:
        return self.help.partition(". ")[0]

    @property
    def placeholder(self) -> str:
        return self.value.rstrip("…")

    @property
    def is_repeatable(self) -> bool:
        return self.value.endswith("…")


class Argument(NamedTuple):
    """The positional argument of a command."""

    name: str
    help: str
    repeat: Literal["1", "?", "*", "+"] = "1"
    choices: tuple[str, ...] = ()
    may_start_with_dash: bool = False
    completion: Completion = ""

    @property
    def attribute(self) -> str:
        """The attribute of the parsed arguments that holds its value."""
        return self.name.lower().replace(" ", "_")


class Command(NamedTuple):
    """A command.

    `actions` are the forms of its arguments, each with its meaning. `common` names the options
    that `-h` explains if a screen cannot hold all.
    """

    name: str
    summary: str
    description: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    exit_status: tuple[tuple[int, str], ...] = ((0, "success"),)  # 2 is always an error
    common: tuple[str, ...] = ()
    actions: tuple[tuple[str, str], ...] = ()


HELP = Option(("-h", "--help"), "print help. -h prints one screen, --help prints everything.")
VERSION = Option(("-V", "--version"), "print the version")
JSON = Option(
    ("--json",), "print one JSON object. Its field `schema` is the version of the format."
)
QUIET = Option(("-q", "--quiet"), "print only errors")
NO_WAIT = Option(
    ("--no-wait",),
    "fail at once if another ccgrep is writing. By default ccgrep waits up to 10 seconds for the "
    "writer lock.",
)
SOURCE = Option(
    ("--source",),
    "limit to sessions of this agent",
    "AGENT…",
    ("claude-code", "claude_code", *(source.name.replace("_", "-") for source in SOURCES[1:])),
)
ROOT = Option(
    ("--root",),
    "read transcripts below DIR instead of the default directories. DIR is a home directory, or a "
    "directory such as ~/.claude or ~/.codex.",
    "DIR…",
    completion="dir",
)
REFS = Argument(
    "REF",
    "a session id, SESSION:TURN, or @ and a turn id; a unique prefix of an id is enough; - reads "
    "REFs or record lines from standard input",
    "+",
    completion="ref",
)

COLOR = Option(
    ("--color", "--colour"),
    "choose when to use colors. The default, auto, uses them only on a terminal.",
    "WHEN",
    ("auto", "always", "never"),
)
NO_REDACT = Option(
    ("--no-redact",),
    "print secrets instead of [redacted:NAME]. By default ccgrep hides text that looks like a key "
    "or a password.",
)
NO_REFRESH = Option(
    ("--no-refresh",),
    "do not ingest changed transcripts first. The answer then covers only what is already indexed.",
)
NO_PAGER = Option(("--no-pager",), "never start a pager")
FULL_ID = Option(("--full-id",), "print whole session ids")
BUDGET = Option(
    ("--budget",),
    "print at most N characters. A line on standard error says how much was left out.",
    "N",
)
CONTEXT = (
    Option(("-A", "--after-context"), "also print the next N turns", "N"),
    Option(("-B", "--before-context"), "also print the previous N turns", "N"),
    Option(("-C", "--context"), "also print N turns before and after", "N"),
)
TURN_LIMIT = Option(
    ("-n", "--limit"), "print at most N turns of each REF. 0, the default, means all.", "N"
)
TURN_PARTS = (
    Option(("--tools",), "include tool calls"),
    Option(("--thinking",), "include thinking"),
)
FILTERS = (
    Option(
        ("-p", "--project"),
        "limit to projects whose path contains STR. A STR that starts with a dash may also be the "
        "name of a folder in ~/.claude/projects. Repeated filters are alternatives.",
        "STR…",
        completion="project",
    ),
    Option(("--here",), "limit to the project of the current directory"),
    Option(
        ("-s", "--since"),
        "limit to turns that started at TIME or later. TIME is an age such as 30m, 24h, 7d or 2w, "
        "a date or time such as 2026-01-15 or 2026-01-15T10:30, today or yesterday.",
        "TIME",
    ),
    Option(
        ("--until",),
        "limit to turns that started at TIME or earlier. A date includes the whole day.",
        "TIME",
    ),
    Option(
        ("--tool",),
        "limit to turns that used this tool. `any` means any tool.",
        "NAME…",
        completion="tool",
    ),
    SOURCE,
    Option(
        ("--session",),
        "limit to one session. If REF is -, read REFs from standard input.",
        "REF…",
        completion="session",
    ),
    Option(("--branch",), "limit to turns on this git branch", "NAME…", completion="branch"),
    Option(
        ("--model-name",),
        "limit to turns answered by a model whose name contains STR",
        "STR…",
        completion="model",
    ),
    Option(
        ("--subagents",),
        "include or exclude sub-agents, or show only them. The default is include; `log` excludes "
        "them. A search ranks sub-agents below other sessions.",
        "WHICH",
        ("include", "only", "exclude"),
    ),
    Option(
        ("--machine",),
        "limit to sessions of this machine. NAME is one that `ccgrep remote status` prints.",
        "NAME…",
        completion="machine",
    ),
    Option(
        ("--tag",),
        "limit to turns and sessions that `ccgrep mark` gave this tag. `any` means any mark.",
        "TAG…",
        completion="tag",
    ),
    Option(("--max-sessions",), "limit to the N most recent sessions", "N"),
)
"""The options that select turns. `cli.filter_options` parses them."""
DOCUMENTS = Option(
    ("--documents",),
    "include or exclude project memory and plans, or show only them. A search includes them and "
    "ranks them below sessions; `list` and the recent turns of `pick` exclude them.",
    "WHICH",
    ("include", "only", "exclude"),
)
SEARCHED = Option(
    ("-R", "--remote"),
    "search a team's server instead of this machine's store. NAME is the name that `ccgrep "
    "remote add` gave it. `local` is this machine's store: `-R local -R NAME` searches both.",
    "NAME…",
    completion="remote",
)
READ_FROM = Option(
    ("-R", "--remote"),
    "read from a team's server instead of this machine's store",
    "NAME",
    completion="remote",
)
OWNER = Option(("--owner",), "limit to sessions that this person pushed. For -R.", "NAME…")
REMOTE_NAME = Argument("REMOTE", "a remote; all of them if omitted", "?", completion="remote")
SYNC_STATUS = ((0, "success"), (1, "a remote failed, or had refused data"))
LIMIT_RATE = Option(
    ("--limit-rate",),
    "transfer RATE bytes per second on average, such as 500k. A file is sent as a whole, and has "
    "at most 32 MB.",
    "RATE",
)
DRY_RUN_PUSH = Option(("--dry-run",), "print what would be written, and write nothing")
MODEL = Option(
    ("--model",), "use this embedding model, given by name or directory", "NAME", completion="dir"
)
SEMANTIC = Option(("--semantic",), "rank by meaning instead of words")
TYPE = Option(
    ("-t", "--type"),
    "search only this kind of text",
    "KIND…",
    ("user", "assistant", "tool", "thinking"),
)
PICK_LIMIT = Option(
    ("-n", "--limit"), "offer at most N turns or commands. The default is 100 turns.", "N"
)
SEARCH_OPTIONS = (
    Option(
        ("-e", "--regexp"),
        "search for PATTERN. A turn matches if it matches any of the patterns.",
        "PATTERN…",
    ),
    Option(("-F", "--fixed-strings"), "treat the pattern as literal text"),
    Option(
        ("-E", "--extended-regexp"),
        "treat the pattern as a regular expression. The syntax is that of RE2.",
    ),
    Option(("-i", "--ignore-case"), "ignore case with -F and -E"),
    Option(("-w", "--word-regexp"), "match only whole words with -F and -E"),
    Option(
        ("--all",),
        "print only turns that have all words. Without it, turns that have some of them fill up "
        "the list.",
    ),
    Option(("--words",), "rank by words alone, even if the pattern is a question"),
    SEMANTIC,
    Option(("--hybrid",), "rank by words and meaning together"),
    Option(
        ("--surface",),
        "search only this part of each turn. For --semantic and --hybrid, `answer` is the last "
        "answer and `full` is all answers, which ccgrep embeds only if the setting `surfaces` "
        "includes it. For words, -F and -E both are all answers.",
        "PART…",
        ("prompt", "answer", "full"),
    ),
    Option(
        ("--alpha",),
        "set the weight of meaning in --hybrid, from 0 to 1. The default is 0.5.",
        "WEIGHT",
    ),
    MODEL,
    Option(
        ("-v", "--invert-match"), "print turns that do not match. Implies -F unless -E is given."
    ),
    TYPE,
    *FILTERS,
    DOCUMENTS,
    SEARCHED,
    OWNER,
    Option(
        ("-n", "--limit", "-m", "--max-count"),
        "print at most N hits. 0 means all. The default is 10 for words, and all for -F and -E.",
        "N",
    ),
    Option(("--per-session",), "print at most N hits per session", "N"),
    Option(
        ("--sort",),
        "print the best, the newest (time) or the oldest hits first. In time order, a search for "
        "words is limited to turns that have all of them, if there are any, and -n applies after "
        "sorting. --semantic and --hybrid sort the hits that they found.",
        "ORDER",
        ("score", "time", "oldest"),
    ),
    Option(
        ("--include-self",),
        "include the session that runs this command. When an agent runs a search, ccgrep leaves "
        "out the agent's own session, and what ccgrep printed in other sessions. This option "
        "includes both.",
    ),
    *CONTEXT,
    Option(
        ("-l", "--files-with-matches", "--sessions-with-matches"),
        "print only the ids of sessions with a hit",
    ),
    Option(
        ("-L", "--files-without-match", "--sessions-without-match"),
        "print only the ids of sessions without a hit",
    ),
    Option(("-c", "--count"), "print SESSION:COUNT for each session with a hit"),
    Option(
        ("-o", "--only-matching"),
        "print each match on a line of its own. Implies -F unless -E is given.",
    ),
    Option(
        ("-q", "--quiet", "--silent"), "print only errors. Exit status 0 means that a turn matched."
    ),
    Option(("-0", "--null"), "end each record with NUL instead of a newline"),
    COLOR,
    FULL_ID,
    Option(
        ("--long",),
        "show more of each message on a terminal. By default a hit has at most two lines of the "
        "prompt and three of the answer, around the match.",
    ),
    Option(("--width",), "cut snippets to N columns. The default is 200.", "N"),
    BUDGET,
    JSON,
    Option(("--jsonl",), "print one JSON object per hit"),
    NO_REDACT,
    Option(("--explain",), "print the parts of each score on standard error"),
    NO_REFRESH,
    Option(
        ("--no-index",),
        "read every turn instead of the full-text index. This is slow and gives the same answer.",
    ),
    Option(
        ("--timeout",),
        "stop a -F or -E search after this many seconds of CPU time. The default is 5. 0 means no "
        "limit.",
        "SECONDS",
    ),
)

MARK_OPTIONS = (FULL_ID, COLOR, NO_REDACT, NO_REFRESH, NO_WAIT, JSON)

_TABLE = (
    Command(
        "search",
        "find the turns that match (the default command)",
        "Prints one line per hit, SESSION:TURN:SCORE:SNIPPET, the best first. Turns that "
        "have all words of the pattern come first, in any form and order. Turns that have some of "
        "them fill up the list. A longer question is ranked by how much of it a turn answers. "
        "Words in double quotes match as a phrase. To search for a word that is also "
        "a command, use `ccgrep search WORD` or `-e WORD`.",
        (*SEARCH_OPTIONS, VERSION),
        (Argument("PATTERN", "what to search for; several words form one pattern", "*"),),
        examples=(
            ("ccgrep flaky login test", "find where this was solved"),
            ("ccgrep -l auth | ccgrep show -", "read the sessions that mention auth"),
            ("ccgrep -F 'jwt expired' -t tool", "find an error that a tool printed"),
            (
                "ccgrep retry | fzf --delimiter : --preview 'ccgrep show {1}:{2}'",
                "choose among the hits",
            ),
        ),
        exit_status=((0, "a turn matched"), (1, "no turn matched")),
        common=tuple("-F -E -t -p --since --semantic -n -l --json".split()),
    ),
    Command(
        "pick",
        "search interactively with fzf",
        "Searches while you type and previews the selected turn, scrolled to the match. Enter "
        "prints the record line of the turn, so pick works in a pipe. Ctrl-T switches between "
        "words and meaning, Ctrl-S marks the turn or removes a mark that has no tags and no "
        "note, Ctrl-R resumes the session, Ctrl-Y copies SESSION:TURN, and Ctrl-O opens the "
        "session in the browser. Needs fzf 0.35 or later.",
        (
            Option(
                ("--commands",),
                "pick a shell command that an agent ran. Enter prints it and does not run it.",
            ),
            SEMANTIC,
            TYPE,
            *FILTERS,
            DOCUMENTS,
            PICK_LIMIT,
            NO_REDACT,
            NO_REFRESH,
        ),
        (Argument("PATTERN", "the query to start with", "*"),),
        examples=(
            ("ccgrep pick flaky | ccgrep show -", "pick a turn and read it"),
            ("ccgrep pick --commands --tool Bash", "find a command from last month"),
        ),
        exit_status=((0, "a line was picked"), (130, "nothing was picked")),
        common=tuple("--commands --semantic -t -p --here --since --session".split()),
    ),
    Command(
        "index",
        "ingest new and changed transcripts",
        "Reads what agents appended to their transcripts since the last run, "
        "and adds every turn to the store. The store keeps turns whose transcript was deleted. If "
        "an embedding model is available, index then embeds new turns, the newest first. You can "
        "interrupt this: the next run continues.",
        (
            Option(("--full",), "read every transcript again"),
            Option(
                ("--recreate",),
                "rebuild the store from the transcripts. Turns whose transcript was deleted are "
                "copied from the old store, which is kept in a directory next to the new one.",
            ),
            Option(
                ("--watch",),
                "keep running and ingest every change. Needs `pip install 'ccgrep[mcp]'`.",
            ),
            Option(("--no-embed",), "do not embed new turns"),
            Option(("--embed-all",), "embed all turns, not only those of the last 90 days"),
            Option(("--embed-since",), "embed turns that started after TIME", "TIME"),
            MODEL,
            SOURCE,
            ROOT,
            NO_WAIT,
            QUIET,
            Option(
                ("-v", "--verbose"),
                "print the name of each transcript that is read. Without a terminal, also print "
                "the progress of embedding every ten seconds.",
            ),
            JSON,
        ),
        examples=(
            ("ccgrep index", "bring the store up to date"),
            ("ccgrep index --root /mnt/backup/home/me", "ingest the sessions of a backup"),
        ),
        exit_status=((0, "success"), (130, "interrupted")),
        common=tuple("--full --recreate --watch --no-embed --root --source -q -v".split()),
    ),
    Command(
        "status",
        "show what is indexed and what is out of date",
        "Prints the number of sessions and turns in the store, its size, and how many transcripts "
        "have changed since the last run.",
        (
            Option(
                ("--by",),
                "print the size of each project instead. The lines have bytes on disk, bytes in "
                "the store, sessions, turns and the project, the largest first.",
                "WHAT",
                ("project",),
            ),
            ROOT,
            Option(("-v", "--verbose"), "also print where transcripts are damaged"),
            JSON,
        ),
        examples=(
            ("ccgrep status --json | jq .behind", "see how much is not indexed yet"),
            ("ccgrep status --by project | head -5", "see which projects take most space"),
        ),
    ),
    Command(
        "list",
        "list sessions, most recent first",
        "Prints one session per line: id, age, project, number of turns, title. If standard "
        "output is not a terminal, tabs separate the fields. If a listed session is from another "
        "machine, a last field names the machine. Filters select turns: a session is "
        "listed if it has a turn that passes them. Sub-agents are counted with the session that "
        "started them (`+3 sub-agents`), unless --subagents or --tree is given.",
        (
            *FILTERS,
            DOCUMENTS,
            READ_FROM,
            OWNER,
            Option(("--tree",), "print sub-agents and forks below the session they come from"),
            Option(
                ("--gone",),
                "print only sessions whose transcript was deleted",
            ),
            Option(
                ("--include-self",),
                "include the session that runs this command. When an agent lists sessions, ccgrep "
                "leaves out the agent's own.",
            ),
            Option(
                ("-n", "--limit"),
                "print at most N sessions, or trees. 0 means all. The default is 20 on a "
                "terminal, and all otherwise.",
                "N",
            ),
            FULL_ID,
            COLOR,
            NO_REDACT,
            NO_REFRESH,
            JSON,
        ),
        examples=(
            ("ccgrep list --since 7d", "list the sessions of this week"),
            ("ccgrep list | fzf | cut -f1 | ccgrep show -", "choose a session and read it"),
            ("ccgrep list --tree -p shopfront", "show the sub-agents of a project"),
        ),
        common=tuple("-p --here --since --until --tree -n --json".split()),
    ),
    Command(
        "log",
        "print turns in time order",
        "Prints one line per turn, the newest first. On a terminal, turns are grouped by day and "
        "project. Elsewhere each line is a record line, whose snippet has the time, the project "
        "and the prompt. PATTERN limits the log to turns that have all its words. Sub-agents are "
        "left out unless --subagents is given. A turn that a fork repeats is printed once. Long "
        "output on a terminal goes through a pager ($PAGER, or else less).",
        (
            *FILTERS,
            DOCUMENTS,
            Option(
                ("-n", "--limit"),
                "print at most the N newest turns. The default, 0, means all.",
                "N",
            ),
            Option(
                ("--day",),
                "print a stand-up report instead. For each day and project: what was asked, which "
                "files changed, which commits were made and what it cost. Sub-agents are included. "
                "It starts yesterday unless --since or --until is given.",
            ),
            Option(("--markdown",), "print the report as Markdown. For --day."),
            Option(("--reverse",), "print the oldest turns first. -n still chooses the newest."),
            Option(
                ("--format",),
                "print TEMPLATE for each turn. Its fields are {ref}, {session}, {turn}, {date}, "
                "{time}, {iso}, {project}, {path}, {source}, {prompt} and {answer}; \\t is a tab "
                "and \\n a newline.",
                "TEMPLATE",
            ),
            NO_PAGER,
            FULL_ID,
            COLOR,
            NO_REDACT,
            NO_REFRESH,
            JSON,
        ),
        (Argument("PATTERN", "words that a turn must have", "*"),),
        examples=(
            ("ccgrep log --here --since 7d", "see this week's turns of this project"),
            ("ccgrep log deploy | head -1 | ccgrep show -", "read the last turn about deploying"),
            ("ccgrep log --day --since 7d --markdown", "report what was done this week"),
            ("ccgrep log --format '{date}\\t{project}' | sort | uniq -c", "count turns by day"),
        ),
        exit_status=((0, "a turn was found"), (1, "no turn was found")),
        common=tuple("-p --here --since --until --day --format -n --json".split()),
    ),
    Command(
        "mark",
        "put tags and notes on turns and sessions",
        "Marks a turn or a session, with any number of tags and a note. Adds tags to a mark that "
        "exists. Without REF, lists the marks, the newest first. Prints a line for each mark: REF, "
        "tags and note, separated by tabs. `--tag` limits other commands to what has a tag, and "
        "`list` and `pick` show a star. A mark of a turn holds for every fork and copy of it.",
        (
            Option(("--note",), "store TEXT with the mark. It replaces an earlier note.", "TEXT"),
            *MARK_OPTIONS,
        ),
        (
            Argument(
                "REF TAG",
                "a turn or session, then any number of tags; - reads REFs or record lines from "
                "standard input; lists the marks if omitted",
                "*",
                completion="mark",
            ),
        ),
        examples=(
            ("ccgrep mark f8a5fac0:4 todo --note 'check the fix'", "mark a turn"),
            ("ccgrep -l auth | ccgrep mark - auth", "tag all sessions that mention auth"),
            ("ccgrep mark | cut -f2 | tr ',' '\\n' | sort | uniq -c", "count the tags"),
        ),
        exit_status=((0, "success"), (1, "there are no marks")),
    ),
    Command(
        "unmark",
        "remove tags, or whole marks",
        "Removes tags from a turn or a session. Without TAG, removes its mark with the note. A "
        "mark that loses its last tag is removed, unless it has a note. Prints what is left of "
        "each mark, or what was removed.",
        MARK_OPTIONS,
        (
            Argument(
                "REF TAG",
                "a turn or session, then the tags to remove; - reads REFs from standard input",
                "+",
                completion="mark",
            ),
        ),
        examples=(
            ("ccgrep unmark f8a5fac0:4 todo", "remove a tag"),
            ("ccgrep mark | grep -w auth | ccgrep unmark -", "remove all marks with the tag auth"),
        ),
        exit_status=((0, "success"), (1, "nothing had the mark or the tag")),
    ),
    Command(
        "brief",
        "print what was worked on, decided and left open",
        "Prints a block for each recent session: the REF of its last turn, age, project and "
        "title, then the last prompt, the final answer, decisions, and open items of a TODO "
        "list. Everything is quoted from the transcript; no model writes it. A decision is a "
        "sentence with words such as `decided` or `going with`, in one of the last five turns.",
        (
            *FILTERS,
            Option(
                ("-n", "--limit"), "print at most N sessions. 0 means all. The default is 5.", "N"
            ),
            COLOR,
            NO_REDACT,
            NO_REFRESH,
            JSON,
        ),
        examples=(
            ("ccgrep brief --here", "see where you left off in this project"),
            ("ccgrep brief -p shopfront -n 0", "see all sessions of a project"),
        ),
        exit_status=((0, "a session was found"), (1, "no session was found")),
        common=tuple("-p --here --since --until -n --json".split()),
    ),
    Command(
        "show",
        "print a session or a turn as a conversation",
        "Prints a session, or one turn of it, as a conversation. Long output on a terminal goes "
        "through a pager ($PAGER, or else less).",
        (
            *TURN_PARTS,
            Option(
                ("--full",),
                "print the complete output of each tool. --tools alone prints its first lines. "
                "Implies --tools.",
            ),
            Option(
                ("--commits",),
                "also print the commits that each turn made. blame --commit goes the other way.",
            ),
            *CONTEXT,
            TURN_LIMIT,
            Option(
                ("--raw",),
                "print turns as they are stored. The output has one JSON object per line.",
            ),
            Option(
                ("--save",),
                "save as Markdown in ~/.claude/recalls. Writes one file per REF and prints its "
                "path.",
            ),
            BUDGET,
            READ_FROM,
            NO_PAGER,
            COLOR,
            NO_REDACT,
            NO_REFRESH,
            JSON,
        ),
        (REFS,),
        examples=(
            ("ccgrep show f8a5fac0", "read the session whose id starts like this"),
            ("ccgrep show f8a5fac0:3 --tools", "read its fourth turn with tool calls"),
            ("ccgrep show f8a5fac0:3 -C2", "read that turn and two on either side"),
            ("ccgrep show f8a5fac0 --save", "save it where Claude Code finds it"),
        ),
        common=tuple("--tools --thinking --full --commits -C -n --raw --budget --json".split()),
    ),
    Command(
        "export",
        "export sessions as Markdown, HTML or JSON",
        "Writes sessions or turns as one document: Markdown, JSON, or an HTML page that uses "
        "neither scripts nor the network. With --site, it writes a site of all sessions.",
        (
            Option(
                ("-f", "--format"),
                "choose the format. The default follows from the name of FILE, and is md "
                "otherwise.",
                "FORMAT",
                ("md", "html", "json"),
            ),
            Option(
                ("-o", "--output"),
                "write to FILE instead of standard output",
                "FILE",
                completion="file",
            ),
            Option(
                ("--site",),
                "write a site of all sessions, or of each REF, to DIR. It lists "
                "sessions by day and project, and its search needs no server. A later run writes "
                "only what has changed.",
                "DIR",
                completion="dir",
            ),
            *TURN_PARTS,
            TURN_LIMIT,
            NO_REDACT,
            NO_REFRESH,
        ),
        (REFS._replace(repeat="*"),),
        examples=(
            ("ccgrep export f8a5fac0 --tools -o auth.html", "make a page to read or share"),
            ("ccgrep -l auth | ccgrep export - > auth.md", "export all sessions about auth"),
            ("ccgrep export --site ~/history", "make a site of the whole history"),
        ),
    ),
    Command(
        "blame",
        "list the turns that read or changed a file, or made a commit",
        "Prints a record line for each turn that read, wrote or edited a file, the newest first. "
        "blame reads the arguments of tool calls. It does not know which files a shell command "
        "changed. With --commit, it prints the turns that made a commit. The score then tells how "
        "sure ccgrep is. It is 1.000 if git printed the commit's hash in the turn, and 0.950 if "
        "the hash has changed since. Otherwise it is at most 0.900 times the share of the commit's "
        "lines that the turn wrote.",
        (
            Option(
                ("--commit",),
                "print the turns that made a commit of this repository. REV is a commit, a range "
                "such as main..topic, or the number of a pull request, #12.",
                "REV",
                completion="commit",
            ),
            Option(
                ("-L", "--line"),
                "print only the turn that wrote line N. N counts lines of the file as it is now.",
                "N",
            ),
            *FILTERS,
            Option(("-n", "--limit"), "print at most N turns. 0, the default, means all.", "N"),
            FULL_ID,
            COLOR,
            NO_REFRESH,
            NO_REDACT,
            JSON,
        ),
        (
            Argument(
                "FILE",
                "a path, or the end of one: src/auth/jwt.ts, jwt.ts",
                "?",
                completion="file",
            ),
        ),
        examples=(
            ("ccgrep blame src/auth/jwt.ts", "see who touched a file and why"),
            ("ccgrep blame -L 21 src/auth/jwt.ts | ccgrep show - --tools", "see why"),
            ("ccgrep blame --commit HEAD | ccgrep show -", "read how the last commit was made"),
        ),
        exit_status=((0, "a turn was found"), (1, "no turn, or no known author of the line")),
        common=tuple("--commit -L -p --since --tool --session -n --json".split()),
    ),
    Command(
        "notes",
        "show or write git notes that name the turns behind commits",
        "Prints the commits of this repository that have a known turn, with the text of the note "
        "that ccgrep would write. With --write, it writes them to refs/notes/ccgrep, where `git "
        "log --notes=ccgrep` shows them. git pushes notes only if you tell it to.",
        (
            Option(("--write",), "write the notes. A note that ccgrep wrote before is replaced."),
            Option(
                ("-n", "--limit"),
                "examine at most N commits. The default is 100, and 0 means all.",
                "N",
            ),
            NO_REDACT,
            NO_REFRESH,
            JSON,
        ),
        (
            Argument(
                "REV",
                "a commit, a range such as main..topic, or the number of a pull request, #12; the "
                "default is the history of HEAD",
                "?",
                completion="commit",
            ),
        ),
        examples=(
            ("ccgrep notes main..HEAD", "see which turns made the commits of this branch"),
            ("ccgrep notes --write && git log --notes=ccgrep", "see it in the log"),
        ),
        exit_status=((0, "a commit has a known turn"), (1, "no commit has a known turn")),
    ),
    Command(
        "stats",
        "count sessions, tools and tokens; suggest permissions",
        "Counts sessions, turns, tool calls and tokens. `stats tools`, `stats bash` and `stats "
        "tokens` show details, and `stats cost` shows dollars at list prices. If standard output "
        "is not a terminal, tabs separate the columns. A turn that several sessions share counts "
        "once, and so do the tokens of a message. With -R, it counts sessions and turns, but "
        "neither calls nor tokens.",
        (
            *FILTERS,
            READ_FROM,
            OWNER,
            Option(
                ("--by",),
                "group by project, model, day, week, month or session. `stats tokens` and `stats "
                "cost` take any of them, `stats tools` only project.",
                "WHAT",
                ("project", "model", "day", "week", "month", "session"),
            ),
            Option(
                ("--budget",),
                "print how much of a budget of USD dollars is left. For `stats cost` with --since.",
                "USD",
            ),
            Option(
                ("--html",),
                "write a page with charts to FILE, and print its path. The page shows activity, "
                "tokens and cost over time, models, projects and tools. It needs neither scripts "
                "nor the network.",
                "FILE",
                completion="file",
            ),
            Option(
                ("--suggest",),
                "suggest permission rules that are safe to allow. The most useful ones come "
                "first. For `stats bash`.",
            ),
            Option(
                ("--settings",),
                "print the rules for Claude Code's settings.json. For `stats bash --suggest`.",
            ),
            Option(
                ("--include-reviewed",),
                "also print the exact commands that you have reviewed. For `--settings`. They run "
                "the project's own code or tools, so read the list first.",
            ),
            Option(
                ("-n", "--limit"),
                "print at most N lines of each kind. 0 means all. The default is 10 on a "
                "terminal, and all otherwise.",
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
                "tools, bash, tokens or cost; an overview if omitted",
                "*",
                ("tools", "bash", "tokens", "cost"),
            ),
        ),
        examples=(
            ("ccgrep stats --since 7d", "see what happened this week"),
            ("ccgrep stats tokens --by day -p shopfront", "see a project's tokens by day"),
            ("ccgrep stats cost --by month", "see what each month cost at list prices"),
            ("ccgrep stats --html stats.html", "write a page with charts"),
            ("ccgrep stats bash --suggest", "find commands to allow without asking"),
        ),
        exit_status=((0, "success"), (1, "no project matches")),
        common=tuple("--by --suggest -p --here --since --until -n --json".split()),
    ),
    Command(
        "prune",
        "delete transcripts that the store can restore",
        "Deletes old transcripts of Claude Code and Codex from disk, but only those that the "
        "store can write back byte for byte. Just before it deletes one, ccgrep reads it and the "
        "stored copy, and compares size and SHA-256. On Linux it keeps what another process has "
        "open. Asks first. Prints STATE, SIZE and PATH of each transcript that is old enough. "
        "Everything stays searchable, and `ccgrep restore` or `resume` brings a transcript back.",
        (
            Option(
                ("--older-than",),
                "delete transcripts that have not changed since TIME. TIME is an age such as 90d, "
                "or a date.",
                "TIME",
            ),
            Option(("-n", "--dry-run"), "print what could be deleted, and delete nothing"),
            Option(("-y", "--yes"), "do not ask"),
            Option(("--list",), "list the transcripts that were deleted, and when"),
            NO_WAIT,
            QUIET,
            NO_REFRESH,
            JSON,
        ),
        examples=(
            ("ccgrep prune --older-than 90d --dry-run", "see how much space that frees"),
            (
                "ccgrep prune --list | cut -f2",
                "list the sessions whose transcripts are deleted",
            ),
        ),
        exit_status=((0, "success"), (1, "not confirmed")),
    ),
    Command(
        "restore",
        "write deleted transcripts back to disk",
        "Writes the transcript of a session back to where its client expects it, byte for byte, "
        "with its sub-agents and stored outputs. If only turns of a session are stored, its "
        "transcript is rebuilt from them, without thinking and images. Files that exist stay as "
        "they are. If one of them differs from what ccgrep stored, nothing is written. Prints a "
        "line for each file: its state, its size and its path.",
        (
            Option(
                ("--to",),
                "write below DIR instead of ~/.claude or ~/.codex",
                "DIR",
                completion="dir",
            ),
            Option(("-n", "--dry-run"), "print what would be written, and write nothing"),
            Option(
                ("--force",),
                "replace files that differ. The old file is kept beside the new one, with the "
                "suffix .bak.",
            ),
            Option(
                ("--version",),
                "restore an earlier content of a transcript that was rewritten",
                "N",
            ),
            Option(("--versions",), "list the stored contents of the transcript"),
            JSON,
        ),
        (
            Argument(
                "REF",
                "a session id or a unique prefix of it; - reads REFs from standard input",
                "+",
                completion="session",
            ),
        ),
        examples=(
            ("ccgrep restore f8a5fac0 --dry-run", "show what would be written"),
            ("ccgrep -l auth | ccgrep restore -", "bring back all sessions about auth"),
        ),
        exit_status=((0, "every file is there"),),
    ),
    Command(
        "resume",
        "print or run the command that resumes a session",
        "Prints the command that resumes a session in the directory where it started, or runs it. "
        "If the client has deleted the transcript, resume restores it first. With --with, hands "
        "the conversation over to an agent: ccgrep writes a new session with the same history for "
        "it. The original stays as it is. A session of another machine is resumed in a checkout of "
        "the same git repository: the current directory, or a project of this machine.",
        (
            Option(("--exec",), "run the command instead of printing it"),
            Option(
                ("--in",),
                "resume in DIR, for example in another checkout of the repository",
                "DIR",
                completion="dir",
            ),
            Option(
                ("--with",),
                "continue in a new session of this agent. Commands and edits become calls of its "
                "own tools, other calls become text, without images. Thinking is left out.",
                "AGENT",
                ("claude", "codex"),
            ),
            NO_REDACT,
            NO_REFRESH,
        ),
        (Argument("REF", "a session, or a turn of it", completion="session"),),
        examples=(
            ("ccgrep resume f8a5fac0 --exec", "continue where you left off"),
            ("ccgrep resume f8a5fac0 --in . --exec", "continue in this checkout"),
            ("ccgrep resume f8a5fac0 --with codex --exec", "continue a session in Codex"),
        ),
        exit_status=((0, "resumable"), (1, "the transcript or directory is gone")),
    ),
    Command(
        "mcp",
        "run an MCP server on standard input and output",
        "Offers an agent the tools search_conversations, list_conversations, read_turn and "
        "read_conversation. They give the same answers as the command line. Each call ingests "
        "changes first. With `pip install 'ccgrep[mcp]'`, the server also ingests them as they "
        "happen. It exits when standard input is closed. `ccgrep setup` registers "
        "it with an agent. The server redacts secrets even if the setting `redact` is never.",
        (
            Option(("--no-redact",), "show secrets to the agent"),
            Option(
                ("-R", "--remote"),
                "serve a team's server instead of this machine's store",
                "NAME",
                completion="remote",
            ),
        ),
        (
            Argument(
                "GLOB",
                "serve only Claude Code projects whose directory name matches, such as "
                "'-home-me-work-*'; all sessions of all agents if omitted",
                "?",
                may_start_with_dash=True,
            ),
        ),
        examples=(("ccgrep mcp '-home-me-work-*'", "serve the projects below ~/work"),),
    ),
    Command(
        "model",
        "show or download the embedding model",
        "Without ACTION, prints which embedding model semantic search uses, where it comes from "
        "and its properties. `model list` compares models by the percentage of questions whose "
        "session came first, and within the first five, in hybrid and in semantic search. `model "
        "pull` is the only command that downloads anything. NAME is a name of the list, or a name "
        "at Hugging Face.",
        (MODEL, JSON),
        (
            Argument(
                "ACTION", "what to do; shows the model in use if omitted", "*", ("list", "pull")
            ),
        ),
        examples=(
            ("ccgrep model", "show the model in use"),
            ("ccgrep model list", "compare models"),
            ("ccgrep model pull arctic", "download another model"),
        ),
        actions=(
            ("list", "print the models that were measured"),
            ("pull NAME", "download a model"),
        ),
    ),
    Command(
        "settings",
        "print all settings and where they come from",
        "Prints the value of each setting and its origin: an environment variable, the "
        "configuration file, or the default. The file is ~/.config/ccgrep/config.toml, or the one "
        "that CCGREP_CONFIG names. Environment variables override the file, and options override "
        "both.",
        (JSON,),
        examples=(("ccgrep settings | grep -v 'default$'", "see what differs from the defaults"),),
    ),
    Command(
        "setup",
        "install ccgrep into an agent or a shell, or remove it",
        "`setup claude` and `setup codex` install a skill that tells the agent when and how to "
        "search, and register the MCP server. They print a diff of each change, keep a backup of "
        "each settings file until --remove, and never change a file that does not parse. `setup "
        "shell` installs completions and two keys: Ctrl-G inserts the REF of a turn that you pick, "
        "Alt-G a command that an agent ran. It adds one marked block each to ~/.bashrc and "
        "~/.zshrc. `setup sync` installs a timer of systemd for your user, or an agent of launchd "
        "on macOS.",
        (
            Option(("--dry-run",), "print what would change, but write nothing"),
            Option(("--remove",), "remove what setup installed"),
            Option(
                ("--hook",),
                "also ingest each Claude Code session when it ends. For `ccgrep setup claude`.",
            ),
            Option(
                ("--recall",),
                "also add relevant past turns to new sessions and prompts. For `ccgrep setup "
                "claude`. Hooks quote at most 1,500 characters (the setting `recall_chars`) of "
                "this project's past turns, and nothing if nothing is relevant. Implies --hook.",
            ),
            Option(
                ("--every",),
                "sync once every TIME. TIME is a number with m, h or d. The default is 15m. For "
                "`ccgrep setup sync`.",
                "TIME",
            ),
        ),
        (Argument("WHAT", "what to set up", choices=("claude", "codex", "shell", "sync")),),
        examples=(
            ("ccgrep setup claude --dry-run", "see what would change"),
            ("ccgrep setup claude", "let Claude Code search past sessions"),
            ("ccgrep setup shell", "complete commands and REFs with Tab"),
            ("ccgrep setup sync --every 1h --dry-run", "see how remotes would be synced"),
        ),
        actions=(
            ("claude", "let Claude Code search past sessions"),
            ("codex", "let Codex search past sessions"),
            ("shell", "install completions and keys for bash, zsh and fish"),
            ("sync", "run `ccgrep sync` regularly"),
        ),
    ),
    Command(
        "completions",
        "print shell completions",
        "Prints a script that makes a shell complete commands, options and their values.",
        (
            Option(
                ("--keys",),
                "include the keys that `ccgrep setup shell` installs. Ctrl-G inserts a REF, Alt-G "
                "a command that an agent ran.",
            ),
        ),
        (Argument("SHELL", "the shell", choices=("bash", "zsh", "fish")),),
        examples=(
            ('eval "$(ccgrep completions bash --keys)"', "enable them in this shell"),
            ("ccgrep completions fish > ccgrep.fish", "write them to a file"),
        ),
    ),
    Command(
        "fsck",
        "verify every object, pack and manifest",
        "Reads the whole store and compares each object with its hash. Prints which turns are "
        "lost, and counts objects that no session refers to.",
        (
            Option(
                ("--repair",),
                "rebuild what is damaged. Reads lost turns again from their transcripts.",
            ),
            Option(
                ("--remote",),
                "check a remote instead. Reads every head, and compares it with the packs.",
                "NAME",
                completion="remote",
            ),
            Option(("--read-data",), "also read every pack of the remote. For --remote."),
            ROOT,
            NO_WAIT,
            JSON,
        ),
        examples=(
            ("ccgrep fsck", "check the store for damage"),
            ("ccgrep fsck --repair", "repair the store"),
            ("ccgrep fsck --remote home --read-data", "check every object of a remote"),
        ),
        exit_status=((0, "the store is intact"), (1, "turns are lost")),
    ),
    Command(
        "gc",
        "merge packs and delete unreferenced objects",
        "Merges small packs into larger ones and deletes objects that no session refers to.",
        (
            Option(
                ("--remote",),
                "clean up a remote instead. Pulls and pushes first, then deletes packs that no "
                "machine refers to.",
                "NAME",
                completion="remote",
            ),
            Option(
                ("--grace",),
                "keep unreferenced packs of the remote for N days. The default is 7. A running "
                "push may need such packs. For --remote.",
                "N",
            ),
            NO_WAIT,
            JSON,
        ),
        examples=(
            ("ccgrep gc", "clean up; never necessary"),
            ("ccgrep gc --remote home", "free space in a remote"),
        ),
    ),
    Command(
        "secrets",
        "find secrets in the store",
        "Scans every turn for text that looks like a key, a token or a password, and prints "
        "SESSION:TURN:RULE:FINGERPRINT for each. It never prints the secret itself. The "
        "fingerprint is the start of the secret's SHA-256, so equal secrets have equal "
        "fingerprints. ccgrep finds only known formats.",
        (
            *FILTERS,
            Option(("-n", "--limit"), "print at most N secrets. 0, the default, means all.", "N"),
            FULL_ID,
            QUIET,
            NO_REFRESH,
            JSON,
        ),
        examples=(
            ("ccgrep secrets --since 30d", "find the secrets of the last month"),
            ("ccgrep secrets | cut -d: -f3 | sort | uniq -c", "count them by kind"),
        ),
        exit_status=((0, "secrets were found"), (1, "no secrets were found")),
        common=tuple("-p --here --since --session --full-id --json".split()),
    ),
    Command(
        "sources",
        "list the agents that ccgrep reads",
        "Prints every known agent: its name for `--source`, the number of its sessions in the "
        "store, and where its history is on this machine. Also prints what ccgrep does not read "
        "of it. "
        "Agents of installed plug-ins are listed too.",
        (ROOT, JSON),
        examples=(
            ("ccgrep sources", "see which agents have a history here"),
            ("ccgrep sources --json | jq '.sources[] | .name'", "list the names"),
        ),
    ),
    Command(
        "import",
        "store sessions from an exchange file or a data export",
        "Reads the data export of claude.ai or ChatGPT, a ZIP or its conversations.json, or an "
        "exchange file that another program wrote. The sessions stay in the store if the file is "
        "deleted. Importing a newer export adds what is new. If the file has an error, ccgrep "
        "stores nothing.",
        (NO_WAIT, QUIET, JSON),
        (Argument("FILE", "the file to import", completion="file"),),
        examples=(("ccgrep import export.zip", "search what you discussed with ChatGPT"),),
    ),
    Command(
        "forget",
        "delete sessions for good",
        "Deletes a session and its sub-agents from the store, and never ingests them again. Forks "
        "and copies that share turns keep them; forget names these sessions on standard error. "
        "The transcript itself is not deleted. The next `ccgrep sync` deletes the session from "
        "remotes, and every other machine forgets it too.",
        (
            Option(("--forks",), "also delete forks and copies that share its turns"),
            Option(
                ("-R", "--remote"),
                "delete your sessions from a team's server instead. They stay here. The server "
                "refuses later pushes of them.",
                "NAME",
                completion="remote",
            ),
            NO_WAIT,
            JSON,
        ),
        (REFS,),
        examples=(("ccgrep forget f8a5fac0", "delete a session from the store"),),
    ),
    Command(
        "remote",
        "add, list or remove remotes, and manage their keys",
        "A remote is storage that your machines share: a folder, a bucket, or a directory of "
        "another host. ccgrep encrypts everything in it, unless --no-encryption is given. Needs "
        "`pip install 'ccgrep[remote]'`. An address such as postgres://host/cc is a team's server: "
        "-R searches it, and `push` sends it only the projects that --project names. Needs `pip "
        "install 'ccgrep[team]'`.",
        (
            Option(
                ("-p", "--project"),
                "push projects of this name to a team's server. `*` and `?` match any text and "
                "any character. Without it, nothing is pushed. For `add`.",
                "GLOB…",
            ),
            Option(("--endpoint",), "use this server instead of the cloud's own", "URL"),
            Option(
                ("--ssh-command",),
                "run CMD instead of ssh. CMD may have options. For `add`.",
                "CMD",
            ),
            Option(
                ("--key",),
                "use an exported key. For `add`: FILE is from `ccgrep remote key export`.",
                "FILE",
                completion="file",
            ),
            Option(
                ("--no-encryption",),
                "store everything in plain text. Anyone who can read the storage can read all "
                "sessions. For `add`.",
            ),
            Option(
                ("--machine-name",),
                "name this machine. The default is its host name. For `add`.",
                "NAME",
            ),
            Option(
                ("--new-id",),
                "also give this machine a new id. For `rename-machine`, if another machine uses "
                "the same id.",
            ),
            Option(
                ("--public",),
                "export only the public half. A machine with it can push, but cannot read.",
            ),
            Option(
                ("--passphrase",),
                "protect the exported key with a passphrase. Asks for it, or takes it from "
                "CCGREP_PASSPHRASE.",
            ),
            Option(
                ("--remote",),
                "choose the remote. For `key` and `remove-machine`, if there are several.",
                "NAME",
                completion="remote",
            ),
            JSON,
        ),
        (
            Argument(
                "ACTION",
                "what to do; `list` if omitted",
                "*",
                ("add", "list", "status", "remove", "rename-machine", "remove-machine", "key"),
            ),
        ),
        examples=(
            ("ccgrep remote add home file:///mnt/nas/cc", "share sessions over a folder"),
            ("ccgrep remote add work s3://bucket/cc --key key.txt", "join a bucket"),
            ("ccgrep remote key export key.txt", "take the key to the next machine"),
            ("ccgrep remote status", "see which machines pushed when"),
        ),
        actions=(
            ("add NAME URL", "create a remote, or join that of another machine"),
            ("list", "print the remotes"),
            ("status [NAME]", "print machines, their last push, and pending forgets"),
            ("remove NAME", "stop using a remote, which stays as it is"),
            ("rename-machine NAME", "give this machine another name"),
            ("remove-machine NAME", "drop a machine that is gone; its sessions stay"),
            ("key show", "print the public half of the key"),
            ("key export [FILE]", "write the whole key for the next machine"),
            ("key import FILE", "replace the key"),
            ("serve DIR", "answer a machine that uses an ssh:// address"),
        ),
    ),
    Command(
        "push",
        "write this machine's sessions to a remote",
        "Ingests changed transcripts, then writes what the remote lacks. Sessions that any "
        "machine has forgotten are deleted here first. An interrupted push leaves nothing "
        "half-visible, and the next one continues.",
        (DRY_RUN_PUSH, LIMIT_RATE, NO_REFRESH, NO_WAIT, QUIET, JSON),
        (REMOTE_NAME,),
        examples=(("ccgrep push home --dry-run", "see how much a push would write"),),
        exit_status=SYNC_STATUS,
    ),
    Command(
        "pull",
        "fetch the sessions of other machines from a remote",
        "Reads what changed in the remote since the last pull, verifies it, and adds the sessions "
        "of other machines to the store. A session that exists on several machines is one "
        "session: the longer version wins, and versions that differ are kept as forks.",
        (LIMIT_RATE, NO_WAIT, QUIET, JSON),
        (REMOTE_NAME,),
        examples=(
            ("ccgrep pull && ccgrep flaky login --machine desktop", "search another machine"),
        ),
        exit_status=SYNC_STATUS,
    ),
    Command(
        "sync",
        "pull, then push",
        "Does what `ccgrep pull` and `ccgrep push` do. `ccgrep setup sync` runs it regularly.",
        (LIMIT_RATE, NO_REFRESH, NO_WAIT, QUIET, JSON),
        (REMOTE_NAME,),
        examples=(("ccgrep sync", "exchange sessions with all remotes"),),
        exit_status=SYNC_STATUS,
    ),
    Command(
        "team",
        "run a team's server on PostgreSQL",
        "For the operator of the server. PLACE is an address such as postgres://postgres@host/cc, "
        "or the name of a remote. PERSON is a database role, which `grant` creates if necessary. "
        "Needs `pip install 'ccgrep[team]'`.",
        (
            Option(
                ("-p", "--project"),
                "grant or revoke projects of this name. `*` matches any text. `team revoke` "
                "without it revokes all of them.",
                "GLOB…",
            ),
            Option(("--read-only",), "do not allow pushing. For `grant`."),
            Option(
                ("--shard",),
                "pass all calls on to this server, with PL/Proxy. For `init`. Repeat it for each "
                "server, always in the same order. An example of ADDRESS is 'host=db1 dbname=cc'.",
                "ADDRESS…",
            ),
            Option(
                ("--partitions",),
                "split the turns into N tables. For the first `init`. The default is 8.",
                "N",
            ),
            JSON,
        ),
        (Argument("ACTION", "what to do", "+", ("init", "grant", "revoke", "status", "purge")),),
        examples=(
            ("ccgrep team init postgres://postgres@db/cc", "make a team's server"),
            ("ccgrep team grant postgres://postgres@db/cc bob -p 'acme-*'", "let bob in"),
            ("ccgrep remote add team postgres://bob@db/cc -p 'acme-*'", "use it as bob"),
            ("ccgrep -R team flaky login --owner alice", "search what alice did"),
        ),
        actions=(
            ("init PLACE", "create the tables and functions, or migrate them"),
            ("grant PLACE PERSON", "let a person push and search some projects"),
            ("revoke PLACE PERSON", "stop a person from pushing and searching projects"),
            ("status PLACE", "print what is stored, and who may see it"),
            ("purge PLACE", "rewrite the tables without forgotten sessions"),
        ),
    ),
)
COMMANDS = {command.name: command for command in _TABLE}
