"""Finds the commits that turns made, in the repositories in which they worked."""

import os
from collections.abc import Iterator, Sequence

from ccgrep.blame.access_log import open_access_log
from ccgrep.blame.commit_history import CommitHistory
from ccgrep.blame.evidence import Evidence, MadeCommit
from ccgrep.blame.file_access import file_accesses
from ccgrep.blame.git import Commit, GitError, Repository
from ccgrep.blame.recorded_commits import recorded_commits
from ccgrep.errors import UsageError
from ccgrep.model import Entry, ObjectId, Turn
from ccgrep.search.request import Filters

_LATEST_COMMIT_MS = 30 * 24 * 3_600_000
_SLACK_MS = 2_000

Turns = Sequence[tuple[Entry, Turn]]


def find_commits(store_dir: str, turns: Turns) -> dict[ObjectId, list[MadeCommit]]:
    """Return the commits of each turn.

    Where the repository is not on this machine, they are those that git printed.
    """
    log = open_access_log(store_dir, Filters())
    found: dict[ObjectId, list[MadeCommit]] = {entry.turn: [] for entry, _ in turns}
    for directory in dict.fromkeys(entry.cwd for entry, _ in turns):
        members = [(entry, turn) for entry, turn in turns if entry.cwd == directory]
        repository = _open_repository(directory)
        if repository is None:
            for entry, turn in members:
                found[entry.turn] = [*_printed_commits(turn)]
            continue
        history = CommitHistory(log, repository)
        for commit in _candidates(repository, members):
            for author in history.authors(commit):
                if (id := author.found.entry.turn) in found:
                    found[id].append(MadeCommit(commit.sha, commit.subject, author.evidence))
    return found


def _open_repository(directory: str) -> Repository | None:
    """Return the repository of a directory that a transcript names, or None."""
    if not os.path.isdir(directory):
        return None
    try:
        return Repository(directory)
    except (GitError, UsageError):
        return None


def _printed_commits(turn: Turn) -> Iterator[MadeCommit]:
    for made in recorded_commits(turn):
        yield MadeCommit(made.sha, made.subject, Evidence("committed"))


def _candidates(repository: Repository, turns: Turns) -> list[Commit]:
    """Return the commits during the turns, and later ones to the files they changed, oldest first.

    A commit that was rebased has a later time, but it changes the same files.
    """
    times = [entry.started for entry, _ in turns if entry.started is not None]
    if not times:
        return []
    since, until = min(times) - _SLACK_MS, max(times) + _LATEST_COMMIT_MS
    latest = max(entry.ended or since for entry, _ in turns) + _SLACK_MS
    paths = {
        os.path.relpath(access.path, repository.root)
        for entry, turn in turns
        for access in file_accesses(turn, entry.cwd)
        if access.changes and access.path.startswith(f"{repository.root}/")
    }
    found = {commit.sha: commit for commit in repository.recent(since, latest, [])}
    if paths:
        found |= {commit.sha: commit for commit in repository.recent(since, until, sorted(paths))}
    return sorted(found.values(), key=lambda commit: commit.committer_ms)
