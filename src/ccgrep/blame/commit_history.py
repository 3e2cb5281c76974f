"""Finds the turns that made a commit: those that committed it, and those that wrote its lines.

What git printed in a turn is certain. A commit that was rebased or amended has another hash, but
still the subject and the author's time of the one that the turn made. Lines are compared with the
edits that the turns made to the same file before the commit, unless an earlier commit has them.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ccgrep.blame.access_log import AccessLog, FoundTurn
from ccgrep.blame.evidence import Evidence
from ccgrep.blame.file_access import FileAccess
from ccgrep.blame.git import Commit, Repository
from ccgrep.blame.line_owners import LineOwners, distinctive_lines
from ccgrep.blame.recorded_commits import (
    mentions_subject,
    quiet_commits,
    recorded_commits,
)

_SLACK_MS = 2_000
_LONGEST_TURN_MS = 24 * 3_600_000
_OLDEST_EDIT_MS = 90 * 24 * 3_600_000
_MIN_LINES = 3


class Author(NamedTuple):
    """A turn that made a commit, or a part of it."""

    found: FoundTurn
    evidence: Evidence


class CommitHistory:
    """The turns behind the commits of one repository."""

    def __init__(self, log: AccessLog, repository: Repository) -> None:
        self._log = log
        self._repository = repository
        self._roots = [os.path.realpath(root) for root in repository.worktrees()]

    def authors(self, commit: Commit) -> list[Author]:
        """Return the turns that made a commit, the most certain first."""
        committed = [
            Author(found, Evidence("committed")) for found in self._find_committing(commit)
        ]
        if not committed:
            rewritten = self._find_rewritten(commit)
            committed = [Author(found, Evidence("rewritten")) for found in rewritten]
        known = {author.found.place for author in committed}
        wrote = [author for author in self._wrote(commit) if author.found.place not in known]
        return committed + sorted(wrote, key=lambda author: -author.evidence.lines)

    def _find_committing(self, commit: Commit) -> Iterator[FoundTurn]:
        """Yield the turns in which git printed the hash of a commit that it made."""
        prefixes = [commit.sha[:length] for length in range(7, len(commit.sha) + 1)]

        def is_wanted(found: FoundTurn) -> bool:
            reported = (made.sha for made in recorded_commits(found.turn) if made.sha)
            if any(map(commit.sha.startswith, reported)):
                return True
            return _contains(found, commit.committer_ms) and any(
                map(commit.sha.startswith, quiet_commits(found.turn, commit.subject))
            )

        return self._log.find_printing(prefixes, is_wanted)

    def _find_rewritten(self, commit: Commit) -> Iterator[FoundTurn]:
        """Yield the turns that made a commit with this subject at this time."""

        def is_wanted(found: FoundTurn) -> bool:
            is_now = _contains(found, commit.author_ms)
            return is_now and mentions_subject(found.turn, commit.subject)

        since, until = commit.author_ms - _LONGEST_TURN_MS, commit.author_ms + _SLACK_MS
        return self._log.find_running(["git"], since, until, is_wanted)

    def _wrote(self, commit: Commit) -> Iterator[Author]:
        """Yield the turns that wrote enough of the commit's lines."""
        lines = {path: distinctive_lines(added) for path, added in commit.added.items()}
        total = sum(map(len, lines.values()))
        owners = self._owners(commit, [path for path, own in lines.items() if own])
        claims = [
            (path, line, owner)
            for path, own in lines.items()
            for line in own
            if path in owners and (owner := owners[path].find(line)) is not None
        ]
        if not claims:
            return
        is_older = self._find_older_commits(commit, claims)
        counts = Counter(
            owner.place for claim in claims if not is_older(claim) for owner in claim[2:]
        )
        turns = {owner.place: owner for _, _, owner in claims}
        for place, count in counts.items():
            if count >= _MIN_LINES or 2 * count >= total:
                yield Author(turns[place], Evidence("wrote", count, total))

    def _owners(self, commit: Commit, paths: list[str]) -> dict[str, LineOwners[FoundTurn]]:
        """Return who wrote the lines of each file, just before the commit."""
        owners: dict[str, LineOwners[FoundTurn]] = {}
        if not paths:
            return owners
        oldest, newest = commit.author_ms - _OLDEST_EDIT_MS, commit.author_ms + _SLACK_MS

        def is_wanted(found: FoundTurn) -> bool:
            return oldest <= found.document.started <= newest

        for found in reversed(list(self._log.find_touching(paths, is_wanted))):
            for access in found.accesses():
                if path := self._path_in_repository(access, paths):
                    owner = owners.setdefault(path, LineOwners())
                    for change in access.changes:
                        owner.apply(found, change)
        return owners

    def _path_in_repository(self, access: FileAccess, paths: list[str]) -> str | None:
        """Return which of these files of the repository a turn accessed.

        A path in another directory counts if that is gone and had the repository's name.
        """
        for path in paths:
            root = access.path.removesuffix(f"/{path}")
            if root == access.path:
                continue
            if os.path.realpath(root) in self._roots:
                return path
            is_moved = not os.path.exists(root)
            if is_moved and os.path.basename(root) == os.path.basename(self._repository.root):
                return path
        return None

    def _find_older_commits(
        self, commit: Commit, claims: list[tuple[str, str, FoundTurn]]
    ) -> Callable[[tuple[str, str, FoundTurn]], bool]:
        """Return whether an earlier commit already has what a turn wrote."""
        oldest = min(owner.document.started for _, _, owner in claims)
        paths = sorted({path for path, _, _ in claims})
        older = [
            (earlier.author_ms, {line.strip() for line in added})
            for earlier in self._repository.ancestors(commit, paths, oldest)
            for added in earlier.added.values()
        ]

        def is_older(claim: tuple[str, str, FoundTurn]) -> bool:
            _, line, owner = claim
            return any(time >= owner.document.started and line in added for time, added in older)

        return is_older


def _contains(found: FoundTurn, time_ms: int) -> bool:
    """Return whether a turn was under way at a time; git's clock counts seconds."""
    started = found.document.started
    ended = found.entry.ended or started + _LONGEST_TURN_MS
    return started - _SLACK_MS <= time_ms <= ended + _SLACK_MS
