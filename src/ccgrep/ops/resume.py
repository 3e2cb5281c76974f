"""Finds the command that resumes a session in its client, or hands it over to another one."""

import os
from itertools import count

from msgspec import Struct

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.kinds import SourceName
from ccgrep.rebuild.transcript import Transcript, hand_over
from ccgrep.sources.identity import is_hashed_id
from ccgrep.sources.scan import is_desktop_dir
from ccgrep.store import fsio
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store
from ccgrep.text import folder_name, one_line

_PROGRAMS: dict[SourceName, tuple[str, ...]] = {
    "claude_code": ("claude", "--resume"),
    "codex": ("codex", "resume"),
}


class ResumeCommand(Struct, frozen=True):
    """A command and its working directory. If there are problems, it cannot be run."""

    command: tuple[str, ...]
    directory: str
    problems: tuple[str, ...] = ()


def find_resume_command(config: Config, ref: str) -> ResumeCommand:
    """Return the command that resumes the session of `ref`, and the directory to run it in."""
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    row = refs.find_row(rows, ref)
    row = _find_main_session(row, rows)
    session = row.session
    if session.kind == "document":
        problem = f"{session.id} is a document, not a session: run `ccgrep show {session.id}`"
        return ResumeCommand((), "", (problem,))
    program = _PROGRAMS[session.source]
    problems = []
    if row.is_gone or not any(os.path.exists(file.path) for file in row.files):
        problems.append(
            f"cannot resume {session.id}, its transcript was deleted: "
            f"run `ccgrep show {session.id}` to read ccgrep's copy"
        )
    elif is_hashed_id(row.base_id):
        problems.append(
            f"cannot resume {session.id}, ccgrep made up this id: "
            f"run `{' '.join(program)}` and choose the session"
        )
    directory = _find_directory(row)
    if not os.path.isdir(directory):
        name = directory or "its directory"
        problems.append(f"cannot resume {session.id}, {name} is gone: create it again")
    return ResumeCommand((*program, row.base_id), directory, tuple(problems))


def hand_over_session(config: Config, ref: str, target: SourceName) -> ResumeCommand:
    """Write the conversation of `ref` as a new session of `target`, and return its command.

    As long as nobody continues the new session, the same call returns it again.
    """

    def prepare(store: Store) -> tuple[str, Transcript]:
        rows = list(store.rows())
        row = _find_main_session(refs.find_row(rows, ref), rows)
        directory = _find_directory(row)
        if not os.path.isdir(directory):
            name = one_line(directory) or "its directory"
            raise NotFoundError(
                f"cannot hand over {row.session.id}, {name} is gone: create it again"
            )
        for number in count():
            transcript = hand_over(store, row, target, os.path.realpath(directory), number)
            if _is_free(os.path.join(root, transcript.path), transcript.content):
                break
        return directory, transcript

    root = _find_root(config, target)
    directory, transcript = read_consistently(config.store_dir, prepare)
    path = os.path.join(root, transcript.path)
    fsio.make_dir(os.path.dirname(path))
    fsio.publish(os.path.dirname(path), path, transcript.content)
    return ResumeCommand((*_PROGRAMS[target], transcript.session.id), directory)


def _find_root(config: Config, target: SourceName) -> str:
    """Return the directory where a client looks for its sessions."""
    for root in config.roots:
        if root.source == target and not is_desktop_dir(root.path):
            return root.path
    program = _PROGRAMS[target][0]
    raise NotFoundError(f"{program} has no directory here: start `{program}` once")


def _is_free(path: str, content: bytes) -> bool:
    """Return whether a file does not exist or has this content already."""
    try:
        with open(path, "rb") as file:
            return file.read(len(content) + 1) == content
    except FileNotFoundError:
        return True


def _find_main_session(row: Row, rows: list[Row]) -> Row:
    """Return the session in which a sub-agent was started, as no client resumes a sub-agent."""
    by_id = {other.session.id: other for other in rows}
    seen: set[str] = set()
    while row.session.kind != "main" and row.session.parent in by_id.keys() - seen:
        seen.add(row.session.parent)
        row = by_id[row.session.parent]
    return row


def _find_directory(row: Row) -> str:
    """Return the directory of a session in which its client finds the transcript.

    Claude Code looks in the folder that it names after the current directory. When a session
    moves to a worktree, the transcript moves to another folder.
    """
    session = row.session
    for file in row.files:
        folder = os.path.basename(os.path.dirname(file.path))
        for directory in (session.current_cwd, session.cwd):
            if directory and os.path.exists(file.path) and folder_name(directory) == folder:
                return directory
    return session.cwd
