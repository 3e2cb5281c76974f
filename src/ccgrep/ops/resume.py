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
    """A command and its working directory. If there are problems, it cannot be run.

    `transcript` is where the client looks for the transcript of `session`. With `is_missing`, it
    has to be written there first.
    """

    session: str = ""
    command: tuple[str, ...] = ()
    directory: str = ""
    problems: tuple[str, ...] = ()
    transcript: str = ""
    is_missing: bool = False


def find_resume_command(config: Config, ref: str, directory: str = "") -> ResumeCommand:
    """Return the command that resumes the session of `ref`, and the directory to run it in.

    `directory` is one that the user chose.
    """
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    row = _find_main_session(refs.find_row(rows, ref), rows)
    session = row.session
    if session.kind == "document":
        problem = f"{session.id} is a document, not a session: run `ccgrep show {session.id}`"
        return ResumeCommand(problems=(problem,))
    program = ("claude", "--resume") if session.source == "claude_code" else ("codex", "resume")
    problems = []
    if is_hashed_id(row.base_id):
        problems.append(
            f"cannot resume {session.id}, ccgrep made up this id: "
            f"run `{' '.join(program)}` and choose the session"
        )
    is_chosen = bool(directory)
    directory = directory or _find_directory(row)
    if not os.path.isdir(directory):
        name = directory or "its directory"
        problems.append(
            f"cannot resume {session.id}, {name} is gone: use --in DIR to choose another directory"
        )
    transcript = _find_transcript(row, directory, is_chosen)
    if not transcript:
        problems.append(
            f"cannot resume {session.id}, its transcript was deleted: "
            f"run `ccgrep show {session.id}` to read ccgrep's copy"
        )
    return ResumeCommand(
        session.id,
        (*program, row.base_id),
        directory,
        tuple(problems),
        transcript,
        is_missing=not os.path.exists(transcript),
    )


def _find_transcript(row: Row, directory: str, is_chosen: bool) -> str:
    """Return the path where the client looks for a session's transcript, empty if it is unknown.

    Claude Code looks in the folder that it names after the current directory, Codex everywhere.
    """
    files = (*row.files, *reversed(row.versions))
    paths = [file.path for file in files if file.parts or os.path.exists(file.path)]
    is_own = not is_chosen and directory in (row.session.cwd, row.session.current_cwd)
    if not paths or is_own or row.session.source == "codex":
        return next(filter(os.path.exists, paths), paths[0] if paths else "")
    folder = folder_name(directory)
    for path in paths:
        if os.path.basename(os.path.dirname(path)) == folder:
            return path
    projects = os.path.dirname(os.path.dirname(paths[0]))
    return os.path.join(projects, folder, os.path.basename(paths[0]))


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
    directories = [path for path in (session.current_cwd, session.cwd) if path]
    for file in row.files:
        folder = os.path.basename(os.path.dirname(file.path))
        for directory in directories:
            if os.path.exists(file.path) and folder_name(directory) == folder:
                return directory
    # A project that was moved may still have one of its directories.
    others = [session.cwd, *directories, session.project]
    return next(filter(os.path.isdir, others), session.cwd)
