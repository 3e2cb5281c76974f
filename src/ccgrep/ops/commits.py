"""The turns behind the commits of a repository, and the git notes that name them."""

from collections.abc import Iterator

from msgspec import Struct

from ccgrep.blame.access_log import BlamedTurn, open_access_log
from ccgrep.blame.commit_history import CommitHistory
from ccgrep.blame.evidence import Evidence
from ccgrep.blame.git import Commit, Repository
from ccgrep.config import Config
from ccgrep.search.request import Filters


class BlamedCommit(Struct, frozen=True):
    """A commit, and the turns that made it with the evidence, the most certain first."""

    commit: Commit
    authors: tuple[tuple[BlamedTurn, Evidence], ...]


def blame_commits(
    config: Config, directory: str, revisions: str | None, filters: Filters, limit: int = 0
) -> Iterator[BlamedCommit]:
    """Yield the commits that `revisions` names in the repository of a directory.

    None means the history of HEAD.
    """
    repository = Repository(directory)
    log = open_access_log(config.store_dir, filters)
    history = CommitHistory(log, repository)
    for commit in repository.commits(revisions, limit):
        authors = history.authors(commit)
        turns = log.describe(author.found for author in authors)
        evidence = (author.evidence for author in authors)
        yield BlamedCommit(commit, tuple(zip(turns, evidence, strict=True)))


def write_note(directory: str, sha: str, text: str) -> None:
    """Write the note of a commit, in place of an earlier one."""
    Repository(directory).write_note(sha, text)
