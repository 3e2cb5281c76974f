"""Asks git about commits. The repository may be hostile: git starts no program of its choice.

The one module that runs git. It never writes, except notes, and never fetches.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ccgrep.errors import CcgrepError, UsageError
from ccgrep.text import one_line

_SAFE = (
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "log.showSignature=false",
    # What the user prefers must not change what is parsed here.
    "-c", "diff.interHunkContext=0",
    "-c", "diff.relative=false",
    "-c", "grep.patternType=basic",
    "-c", "i18n.logOutputEncoding=UTF-8",
    "-c", "log.follow=false",
    "-c", "log.showRoot=true",
)  # fmt: skip
_ENVIRONMENT = ("GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
_HEADER = "%x00%H%x00%at%x00%ct%x00%P%x00%s"
_PATCH = (
    *("-p", "-U0", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PULL_REQUEST = re.compile(r"(?:PR ?)?#(\d{1,9})", re.IGNORECASE)
_NOTES_REF = "ccgrep"
_MAX_ADDED_LINES = 20_000


class GitError(CcgrepError):
    """git is missing, or refuses what it was asked."""


class Commit(NamedTuple):
    """A commit, and the lines that it adds to each file. A merge adds none."""

    sha: str
    author_ms: int
    committer_ms: int
    parents: tuple[str, ...]
    subject: str
    added: dict[str, list[str]]


class Repository:
    """The repository of a directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        try:
            self.root = self._read("rev-parse", "--show-toplevel").rstrip("\n")
        except UsageError as error:
            shown = one_line(os.path.abspath(directory))
            why = "" if str(error).startswith("not a git repository") else f" ({error})"
            raise UsageError(
                f"'{shown}' is not in a git repository{why}: run this in one"
            ) from None

    def worktrees(self) -> list[str]:
        """Return the directories in which the repository is checked out."""
        listed = self._read("worktree", "list", "--porcelain").splitlines()
        found = [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]
        return [self.root, *(path for path in found if path != self.root)]

    def commits(self, revisions: str | None, limit: int = 0) -> Iterator[Commit]:
        """Yield the commits that `revisions` names, the newest first.

        It is a commit, a range such as `main..topic`, or the number of a pull request, `#12`.
        None means the history of HEAD.
        """
        if revisions is None:
            return self._log(["HEAD"], limit)
        pull_request = _PULL_REQUEST.fullmatch(revisions)
        if pull_request:
            return self._log([*self._pull_request(pull_request[1])], limit)
        is_range = ".." in revisions
        name = revisions if is_range else f"{revisions}^{{commit}}"
        found = self._read("rev-parse", "--revs-only", "--end-of-options", name).split()
        if not found:
            raise UsageError(
                f"'{one_line(revisions)}' names no commit of this repository: "
                "pass a commit, a range such as main..topic, or #12 for a pull request"
            )
        return self._log(found if is_range else ["--no-walk", *found], limit)

    def ancestors(self, commit: Commit, paths: list[str], since_ms: int) -> Iterator[Commit]:
        """Yield the commits before `commit` that change one of the files since a time."""
        if commit.parents:
            since = f"--since={since_ms // 1000}"
            yield from self._log([since, commit.parents[0]], paths=paths)

    def recent(self, since_ms: int, until_ms: int, paths: list[str]) -> Iterator[Commit]:
        """Yield the commits of a time on any branch; with paths, those that change these files."""
        times = [f"--since={since_ms // 1000}", f"--until={until_ms // 1000}"]
        return self._log([*times, "--branches", "HEAD"], paths=paths)

    def recent_names(self, count: int) -> list[tuple[str, str]]:
        """Return the short hashes and the subjects of the last commits."""
        lines = self._read("log", f"-n{count}", "--format=%h%x00%s").splitlines()
        return [(hash, subject) for hash, _, subject in (line.partition("\0") for line in lines)]

    def write_note(self, sha: str, text: str) -> None:
        """Write the note of a commit. `git push` does not push it."""
        self._read("notes", f"--ref={_NOTES_REF}", "add", "-f", "-F", "-", sha, given=text)

    def _pull_request(self, number: str) -> Iterator[str]:
        """Yield what to pass to `git log` for the commits of a pull request of GitHub."""
        merged = rf"--grep=^Merge pull request #{number} from "
        found = self._read("log", "--all", "-n", "1", "--merges", "--format=%H", merged).split()
        if found:
            yield f"{found[0]}^1..{found[0]}^2"
            return
        squashed = rf"--grep=(#{number})$"
        lines = self._read("log", "--all", "--format=%H %s", squashed).splitlines()
        shas = [line.split()[0] for line in lines if line.endswith(f"(#{number})")]
        if not shas:
            raise GitError(
                f"no commit of pull request #{number} is in this repository: "
                f"fetch it, or name its commits as BASE..BRANCH"
            )
        yield from ("--no-walk", *shas)

    def _log(
        self, revisions: list[str], limit: int = 0, paths: Sequence[str] = ()
    ) -> Iterator[Commit]:
        command = ["log", f"--format={_HEADER}", *_PATCH, *([f"-n{limit}"] if limit else [])]
        return _parse_log(self._stream(*command, *revisions, "--", *paths))

    def _command(self, *arguments: str) -> list[str]:
        return ["env", *_ENVIRONMENT, "git", *_SAFE, "-C", self._directory, *arguments]

    def _read(self, *arguments: str, given: str = "") -> str:
        try:
            done = subprocess.run(
                self._command(*arguments),
                input=given.encode(),
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise GitError(f"cannot run git ({error.strerror})") from None
        if done.returncode:
            said = one_line(done.stderr.decode(errors="replace").strip())
            raise UsageError(said.removeprefix("fatal: ") or "git failed")
        return done.stdout.decode(errors="replace")

    def _stream(self, *arguments: str) -> Iterator[bytes]:
        with subprocess.Popen(
            self._command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            yield from process.stdout


def _parse_log(lines: Iterator[bytes]) -> Iterator[Commit]:
    """Yield the commits of `git log -p -U0`. Files whose name needs quotes are left out."""
    commit: Commit | None = None
    added: list[str] | None = None
    count = left = 0
    for line in lines:
        if left:
            left -= 1
            if added is not None and line.startswith(b"+") and count < _MAX_ADDED_LINES:
                added.append(line[1:].decode(errors="replace").rstrip("\r\n"))
                count += 1
        elif line.startswith(b"\0"):
            if commit is not None:
                yield commit
            commit, added, count = _parse_header(line), None, 0
        elif line.startswith(b"+++ b/") and commit is not None:
            path = line[6:].rstrip(b"\n").removesuffix(b"\t").decode(errors="replace")
            added = commit.added.setdefault(path, [])
        elif line.startswith(b"diff "):
            added = None
        elif hunk := _HUNK.match(line):
            left = sum(1 if size is None else int(size) for size in hunk.groups())
    if commit is not None:
        yield commit


def _parse_header(line: bytes) -> Commit:
    fields = line[1:].decode(errors="replace").rstrip("\n").split("\0")
    sha, author, committer, parents, subject = fields
    return Commit(sha, int(author) * 1000, int(committer) * 1000, (*parents.split(),), subject, {})
