"""The table of sources: the agents that ccgrep reads, and where they keep their history.

Start-up imports this module, so it has only strings. The reader of a source is a module of its own,
which `readers.py` imports when there is something to read.
"""

from __future__ import annotations

import os
import sys

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ccgrep.kinds import SourceName
else:
    SourceName = str  # msgspec resolves it when it decodes a worker's task

ALL_APPS = (".config", os.path.join("Library", "Application Support"))
_APPS = ALL_APPS[sys.platform == "darwin"]

_RACY_NS = 2_000_000_000  # FAT stores mtimes in steps of two seconds

LISTED_KINDS = frozenset(
    ["session", "document", "desktop_session", "database", "sessions_index", "thread_names"]
)
"""The kinds of files that are watched for changes. The others change together with one of them."""


class Root(NamedTuple):
    """A directory with the history of an agent, such as ~/.claude."""

    path: str
    source: SourceName


class Place(NamedTuple):
    """Where an agent keeps its history: a path below the home directory.

    `{apps}` in it is the directory where programs keep their data. If `variable` is set, `below` in
    the directory that it names takes its place. One of `marks` has to be in the directory, unless
    the path `is_certain`.
    """

    path: str
    marks: tuple[str, ...] = ()
    variable: str = ""
    below: str = ""
    is_certain: bool = False


class Source(NamedTuple):
    """An agent, and how to find, read and resume its sessions.

    `module` has the reader, see `readers.py`. `watched` are the files and folders below a root that
    change. In `resume`, `{id}` stands for the id of a session; without a command it is empty.
    """

    name: SourceName
    title: str
    module: str
    places: tuple[Place, ...] = ()
    watched: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    speaker: str = ""  # in conversations, instead of the title
    form: str = ""  # of its files
    lacks: str = ""  # what ccgrep cannot read
    is_any_name: bool = False  # A directory of any name with a mark is a root.
    is_in_projects: bool = False  # `watched` are in the directories of projects, too.
    has_command_for_files_only: bool = False  # `resume` does not know sessions in a database.


_PROJECTS = ("projects",)
DESKTOP_FOLDERS = ("claude-code-sessions", "local-agent-mode-sessions")
"""Where Claude Desktop keeps the titles of its sessions and the transcripts of Cowork."""
_ROLLOUTS = ("sessions", "archived_sessions")
_STORAGES = tuple(
    os.path.join(editor, "User", "globalStorage")
    for editor in (
        os.path.join("{apps}", "Code"),
        os.path.join("{apps}", "Cursor"),
        os.path.join("{apps}", "VSCodium"),
        os.path.join(".vscode-server", "data"),
    )
)
"""Where extensions of an editor keep their data."""

SOURCES = (
    Source(
        "claude_code",
        "Claude Code",
        "ccgrep.sources.claude_source",
        (
            Place(".claude", _PROJECTS, "CLAUDE_CONFIG_DIR", is_certain=True),
            # Other programs may use ~/.config/claude too.
            Place(os.path.join(".config", "claude"), _PROJECTS, "CLAUDE_CONFIG_DIR"),
            Place(os.path.join(".config", "Claude"), DESKTOP_FOLDERS),
            Place(os.path.join("Library", "Application Support", "Claude"), DESKTOP_FOLDERS),
        ),
        watched=("projects", "plans", *DESKTOP_FOLDERS),
        resume=("claude", "--resume", "{id}"),
        speaker="Claude",
        form="JSON lines",
        is_any_name=True,
    ),
    Source(
        "codex",
        "Codex",
        "ccgrep.sources.codex_source",
        (Place(".codex", _ROLLOUTS, "CODEX_HOME", is_certain=True),),
        watched=_ROLLOUTS,
        resume=("codex", "resume", "{id}"),
        form="JSON lines",
        is_any_name=True,
    ),
    Source(
        "opencode",
        "opencode",
        "ccgrep.sources.opencode",
        (
            Place(
                os.path.join(".local", "share", "opencode"),
                ("opencode.db", "storage"),
                "XDG_DATA_HOME",
                "opencode",
            ),
        ),
        watched=("opencode.db", "opencode.db-wal", os.path.join("storage", "session")),
        resume=("opencode", "--session", "{id}"),
        form="SQLite; JSON files before 1.2",
        lacks="snapshots of files",
    ),
    Source(
        "pi",
        "Pi",
        "ccgrep.sources.pi",
        (Place(os.path.join(".pi", "agent"), ("sessions",), "PI_CODING_AGENT_DIR"),),
        watched=("sessions",),
        resume=("pi", "--session", "{id}"),
        form="JSON lines",
        lacks="outputs that Pi cut",
    ),
    Source(
        "oh_my_pi",
        "oh-my-pi",
        "ccgrep.sources.pi",
        (Place(os.path.join(".omp", "agent"), ("sessions",)),),
        watched=("sessions",),
        resume=("omp", "--resume", "{id}"),
        form="JSON lines",
        lacks="outputs that oh-my-pi cut",
    ),
    Source(
        "copilot_cli",
        "Copilot CLI",
        "ccgrep.sources.copilot_cli",
        (Place(".copilot", ("session-state",), "COPILOT_HOME"),),
        watched=("session-state",),
        resume=("copilot", "--resume={id}"),
        speaker="Copilot",
        form="JSON lines",
        lacks="outputs over 20 KB, of which Copilot keeps the beginning",
    ),
    Source(
        "gemini",
        "Gemini CLI",
        "ccgrep.sources.gemini",
        (Place(".gemini", ("tmp",), "GEMINI_CLI_HOME", ".gemini"),),
        watched=("tmp",),
        resume=("gemini", "--resume", "{id}"),
        speaker="Gemini",
        form="JSON, later JSON lines",
        lacks="versions and branches, which Gemini does not record",
    ),
    Source(
        "qwen",
        "Qwen Code",
        "ccgrep.sources.qwen",
        (Place(".qwen", ("projects", "tmp"), "QWEN_HOME"),),
        watched=("projects", "tmp"),
        resume=("qwen", "--resume", "{id}"),
        speaker="Qwen",
        form="JSON lines",
        lacks="the work of sub-agents before 0.16, of which Qwen keeps the result",
    ),
    Source(
        "cursor",
        "Cursor",
        "ccgrep.sources.cursor",
        (
            Place(".cursor", ("projects",)),
            Place(os.path.join("{apps}", "Cursor", "User", "globalStorage"), ("state.vscdb",)),
        ),
        watched=("projects", "state.vscdb", "state.vscdb-wal"),
        resume=("cursor-agent", "--resume={id}"),
        has_command_for_files_only=True,
        form="JSON lines, SQLite",
        lacks="outputs, models, tokens and most times of transcripts that are not of the IDE",
    ),
    Source(
        "copilot_chat",
        "VS Code Copilot Chat",
        "ccgrep.sources.copilot_chat",
        (
            *(
                Place(os.path.join("{apps}", editor, "User", *folders))
                for editor in ("Code", "Code - Insiders", "VSCodium")
                for folders in (
                    ("workspaceStorage",),
                    ("globalStorage", "emptyWindowChatSessions"),
                )
            ),
            Place(os.path.join(".vscode-server", "data", "User", "workspaceStorage")),
        ),
        watched=("",),
        speaker="Copilot",
        form="JSON, later a log of changes",
        lacks="images, and tokens of all but the last call of a turn",
    ),
    Source(
        "cline",
        "Cline",
        "ccgrep.sources.cline",
        (
            Place(os.path.join(".cline", "data"), ("sessions", "tasks"), "CLINE_DATA_DIR"),
            *(
                Place(os.path.join(path, "saoudrizwan.claude-dev"), ("tasks",))
                for path in _STORAGES
            ),
        ),
        watched=("sessions", "tasks"),
        resume=("cline", "--id", "{id}"),
        form="JSON",
        lacks="checkpoints",
    ),
    Source(
        "roo",
        "Roo Code",
        "ccgrep.sources.cline",
        tuple(
            Place(os.path.join(path, "rooveterinaryinc.roo-cline"), ("tasks",))
            for path in _STORAGES
        ),
        watched=("tasks",),
        form="JSON",
        lacks="checkpoints",
    ),
    Source(
        "aider",
        "Aider",
        "ccgrep.sources.aider",
        (Place("", (".aider.chat.history.md", ".aider.input.history")),),
        watched=(".aider.chat.history.md",),
        form="Markdown",
        lacks="times within a run",
        is_any_name=True,
        is_in_projects=True,
    ),
    Source(
        "claude_ai",
        "claude.ai",
        "",
        speaker="Claude",
        form="data export: `ccgrep import`",
        lacks="files, models and tokens, which the export lacks too",
    ),
    Source(
        "chatgpt",
        "ChatGPT",
        "",
        form="data export: `ccgrep import`",
        lacks="images and files; answers that were generated again are in one turn",
    ),
    Source("imported", "Imported", "", form="exchange file: `ccgrep import`"),
)
"""The first two are listed even without sessions."""


def is_racy(mtime_ns: int, seen_ns: int) -> bool:
    """Return whether a file with this mtime may have changed after `seen_ns` unnoticed.

    Within one tick of the filesystem's clock, a write leaves mtime and size as they were.
    """
    return mtime_ns > seen_ns - _RACY_NS


def find_source(name: SourceName) -> Source:
    """Return a source. One that is not in the table was read by a plug-in or imported."""
    for source in SOURCES:
        if source.name == name:
            return source
    return Source(name, name, "")


def find_default_roots(environment: Mapping[str, str], home: str) -> list[Root]:
    """Return the directories of agents that exist."""
    return find_roots_of(SOURCES, environment, home)


def find_roots_of(
    sources: Iterable[Source], environment: Mapping[str, str], home: str
) -> list[Root]:
    """Return the directories of some agents that exist."""
    roots: dict[Root, None] = {}
    for source in sources:
        for place in source.places:
            named = environment.get(place.variable) if place.variable else ""
            if named:
                path = os.path.join(named, place.below) if place.below else named
            else:
                path = os.path.join(home, place.path.replace("{apps}", _APPS))
            if os.path.isdir(path) and (place.is_certain or has_mark(path, place.marks)):
                roots[Root(path, source.name)] = None
    return list(roots)


def find_roots_in_projects(projects: Iterable[str], names: tuple[SourceName, ...]) -> list[Root]:
    """Return the directories of projects in which an agent of these names keeps its history."""
    return [
        Root(project, source.name)
        for source in SOURCES
        if source.name in names
        for project in projects
        if os.path.isabs(project) and has_mark(project, source.watched)
    ]


def find_roots(directory: str) -> list[Root]:
    """Return the roots in a directory that the user named: a home directory or a root."""
    if os.path.isdir(directory):
        directory = spell_as_listed(directory)
    roots: dict[Root, None] = {}
    paths: set[str] = set()
    for source in SOURCES:
        found = [path for path in _list_places(source, directory) if path not in paths]
        roots |= {Root(path, source.name): None for path in found}
        paths.update(found)  # Claude Code's directory has a `sessions` folder too.
    return list(roots)


def _list_places(source: Source, directory: str) -> Iterator[str]:
    for place in source.places:
        is_named = os.path.basename(directory) == os.path.basename(place.path)
        if (source.is_any_name or is_named) and has_mark(directory, place.marks):
            yield directory
        for apps in ALL_APPS if "{apps}" in place.path else ("",):
            path = os.path.join(directory, place.path.replace("{apps}", apps))
            if os.path.isdir(path) and has_mark(path, place.marks):
                yield path


def has_mark(path: str, marks: tuple[str, ...]) -> bool:
    """Return whether a directory has one of these files or folders, or needs none."""
    return not marks or any(os.path.exists(os.path.join(path, mark)) for mark in marks)


def is_desktop_dir(path: str) -> bool:
    """Return whether a directory is Claude Desktop's."""
    return os.path.isdir(path) and has_mark(path, DESKTOP_FOLDERS)


def spell_as_listed(path: str) -> str:
    """Return `path` with each name spelled as its directory lists it.

    macOS finds a file under any case and Unicode form of its name, but ccgrep compares paths with
    stored paths as strings.
    """
    parent, name = os.path.split(path)
    if parent == path:
        return path
    if parent:
        parent = spell_as_listed(parent)
    try:
        names = os.listdir(parent or os.curdir)
    except OSError:
        names = []
    if name not in names:
        folded = _fold_name(name)
        name = next((other for other in names if _fold_name(other) == folded), name)
    return os.path.join(parent, name)


def _fold_name(name: str) -> str:
    from unicodedata import normalize  # noqa: PLC0415 - rarely needed at start-up

    return normalize("NFD", normalize("NFD", name).casefold())
