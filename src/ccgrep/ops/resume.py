"""Finds the command that resumes a session in its client, or hands it over to another one."""

import os
from itertools import count

from msgspec import Struct

from ccgrep import refs
from ccgrep.config import Config, client_root
from ccgrep.errors import NotFoundError
from ccgrep.kinds import SourceName
from ccgrep.paths import move_below
from ccgrep.rebuild.transcript import Transcript, hand_over, transcript_path
from ccgrep.remote.repository import find_checkout, move_to_checkout
from ccgrep.sources.identity import is_hashed_id
from ccgrep.sources.readers import find_any_source
from ccgrep.sources.values import find_project
from ccgrep.store import fsio
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.machines import Machines, read_machines
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store
from ccgrep.text import folder_name, one_line


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


def find_resume_command(
    config: Config, ref: str, directory: str = "", current_directory: str = ""
) -> ResumeCommand:
    """Return the command that resumes the session of `ref`, and the directory to run it in.

    `directory` is one that the user chose. `current_directory` may be a checkout of the repository
    in which another machine had the session.
    """
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    row = _find_main_session(refs.find_row(rows, ref), rows)
    session = row.session
    if session.kind == "document":
        problem = f"{session.id} is a document, not a session: run `ccgrep show {session.id}`"
        return ResumeCommand(problems=(problem,))
    source = find_any_source(session.source)
    is_in_database = any(file.container for file in row.files)
    if not source.resume or (is_in_database and source.has_command_for_files_only):
        problem = (
            f"cannot resume {session.id}, {one_line(source.title)} has no command for that: "
            "use --with claude or --with codex"
        )
        return ResumeCommand(session.id, problems=(problem,))
    problems = []
    if is_hashed_id(row.base_id):
        program = " ".join(word for word in source.resume if "{id}" not in word)
        problems.append(
            f"cannot resume {session.id}, ccgrep made up this id: "
            f"run `{program}` and choose the session"
        )
    is_chosen = bool(directory)
    machines = read_machines(config.store_dir)
    directory = directory or _find_directory(row, rows, machines, current_directory)
    if is_chosen and not os.path.isdir(directory):
        problems.append(f"{directory} is not a directory: choose another one with --in DIR")
    elif not (session.is_prompt_only or os.path.isdir(directory)):
        problems.append(f"cannot resume {session.id}, {_explain_missing(row, directory, machines)}")
    if session.is_prompt_only:
        problems.append(
            f"cannot resume {session.id}, only its prompts are known: "
            f"run `ccgrep show {session.id}` to read them"
        )
    transcript = _find_transcript(config, row, directory, is_chosen)
    problems += _explain_partial(row, transcript, machines)
    return ResumeCommand(
        session.id,
        _resume_words(session.source, row.base_id),
        directory,
        tuple(problems),
        transcript,
        is_missing=not os.path.exists(transcript),
    )


def _explain_partial(row: Row, transcript: str, machines: Machines) -> list[str]:
    """Return a problem if another machine continued the session that a transcript here begins."""
    is_partial = any(file.path == transcript and file.is_partial for file in row.files)
    if row.provenance is None or not is_partial or not os.path.exists(transcript):
        return []
    id, machine = row.session.id, one_line(machines.name(row.provenance.machine))
    return [
        f"cannot resume {id}, its transcript here lacks turns of '{machine}': run "
        f"`ccgrep restore {id} --force`, which replaces it and keeps a backup"
    ]


def _resume_words(source: SourceName, id: str) -> tuple[str, ...]:
    """Return the command with which a client resumes a session."""
    return tuple(word.replace("{id}", id) for word in find_any_source(source).resume)


def _find_transcript(config: Config, row: Row, directory: str, is_chosen: bool) -> str:
    """Return the path where the client looks for a session's transcript.

    Claude Code looks in the folder that it names after the current directory, others everywhere.
    A session in a database is there as long as the database is.
    """
    session = row.session
    if containers := [file.container for file in row.files if file.container]:
        return containers[0]
    paths = [file.path for file in row.files]
    if row.provenance is None:
        paths += [file.path for file in reversed(row.versions)]
    elif not paths:
        root = _find_root(config, session.source)
        moved = (move_below(file.path, file.root, root) for file in reversed(row.versions))
        paths = [path for path in moved if path is not None]
    if not paths:
        paths = [os.path.join(_find_root(config, session.source), transcript_path(session))]
    is_own = not is_chosen and directory in (session.cwd, session.current_cwd)
    if is_own or session.source != "claude_code":
        return next(filter(os.path.exists, paths), paths[0])
    folder = folder_name(directory)
    for path in paths:
        if os.path.basename(os.path.dirname(path)) == folder:
            return path
    projects = os.path.dirname(os.path.dirname(paths[0]))
    return os.path.join(projects, folder, os.path.basename(paths[0]))


def hand_over_session(
    config: Config, ref: str, target: SourceName, chosen: str = "", current_directory: str = ""
) -> ResumeCommand:
    """Write the conversation of `ref` as a new session of `target`, and return its command.

    `chosen` is a directory that the user chose for it, and `current_directory` as in
    `find_resume_command`. As long as nobody continues the new session, the same call returns it
    again.
    """

    def prepare(store: Store) -> tuple[str, Transcript]:
        rows = list(store.rows())
        row = _find_main_session(refs.find_row(rows, ref), rows)
        machines = read_machines(config.store_dir)
        directory = chosen or _find_directory(row, rows, machines, current_directory)
        if not os.path.isdir(directory):
            problem = _explain_missing(row, one_line(directory), machines)
            raise NotFoundError(f"cannot hand over {row.session.id}, {problem}")
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
    id = transcript.session.id
    return ResumeCommand(id, _resume_words(target, id), directory, transcript=path)


def _find_root(config: Config, target: SourceName) -> str:
    """Return the directory where a client looks for its sessions."""
    root = client_root(config, target)
    if root is not None:
        return root
    program = find_any_source(target).resume[0]
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


def _explain_missing(row: Row, directory: str, machines: Machines) -> str:
    """Return why a session has no directory here, and what to do."""
    name = directory or "its directory"
    if repository := machines.repository(row) if row.provenance is not None else "":
        return f"no checkout of {repository} is known here: run this inside one, or use --in DIR"
    if row.provenance is not None:
        name += f" of '{machines.name(row.provenance.machine)}'"
        return f"{name} is not here: use --in DIR to choose another directory"
    return f"{name} is gone: use --in DIR to choose another directory"


def _find_directory(row: Row, rows: list[Row], machines: Machines, current_directory: str) -> str:
    """Return the directory of a session in which its client finds the transcript.

    Claude Code looks in the folder that it names after the current directory. When a session
    moves to a worktree, the transcript moves to another folder.
    """
    session = row.session
    if row.provenance is not None and (repository := machines.repository(row)):
        return _find_checkout(row, repository, rows, current_directory)
    directories = [path for path in (session.current_cwd, session.cwd) if path]
    for file in row.files:
        folder = os.path.basename(os.path.dirname(file.path))
        for directory in directories:
            if os.path.exists(file.path) and folder_name(directory) == folder:
                return directory
    # A project that was moved may still have one of its directories.
    others = [session.cwd, *directories, session.project]
    return next(filter(os.path.isdir, others), session.cwd)


def _find_checkout(row: Row, repository: str, rows: list[Row], current_directory: str) -> str:
    """Return the directory of a session of another machine in a checkout on this one, or "".

    The session's own path comes first, then the current directory, then the last used project.
    """
    own = sorted(
        (other.session for other in rows if other.provenance is None),
        key=lambda session: -(session.ended or 0),
    )
    current = find_project(current_directory)
    projects = dict.fromkeys((row.session.project, current, *(one.project for one in own)))
    checkout = find_checkout(repository, projects)
    return move_to_checkout(row.session.cwd, row.session.project, checkout) if checkout else ""
