"""Finds the command that resumes a session in its client."""

import os

from msgspec import Struct

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.sources.identity import is_hashed_id
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.manifest import Row
from ccgrep.text import folder_name


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
    program = ("claude", "--resume") if session.source == "claude_code" else ("codex", "resume")
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
