"""Finds the commits that a turn made, by its shell commands and what git printed. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.blame.file_access import base_name, strings
from ccgrep.model import ToolResult, Turn
from ccgrep.sources.file_tools import SHELL_TOOLS

_COMMITTING = re.compile(r"\bgit\b[^\n;&|]*\b(?:commit|merge|rebase|cherry-pick|revert|am)\b")
_REPORT = re.compile(r"^\[[^\]\n]{1,250} ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_MESSAGE = re.compile(
    r"\bcommit\b[^\n]*?\s-[a-zA-Z]*m\s*"
    r"(?:\"\$\(cat <<-?\s*['\"]?\w+['\"]?\n\s*([^\n]+)|\"([^\"\n]+)|'([^'\n]+))"
)
_QUOTES = str.maketrans("", "", "\\\"'")
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


class RecordedCommit(NamedTuple):
    """A commit: the beginning of its hash, or "" if git did not report it, and its subject."""

    sha: str
    subject: str


def recorded_commits(turn: Turn) -> Iterator[RecordedCommit]:
    """Yield the commits of a turn, in order.

    A report such as `[main 4be71d0] Fix the login test` counts even if a later command of the
    script failed. Without a report, the message in the script counts if nothing failed.
    """
    for script, result in _committing_calls(turn):
        reports = [RecordedCommit(*found) for found in _REPORT.findall(result.text)]
        yield from reports
        if not reports and not result.is_error:
            for groups in _MESSAGE.findall(script):
                yield RecordedCommit("", next(filter(None, groups)).strip())


def quiet_commits(turn: Turn, subject: str) -> set[str]:
    """Return what looks like the hash of a commit with this subject that git did not report.

    `git commit -q && git log` prints the hashes of other commits, too, such as those that another
    agent made meanwhile. So a message in the script has to be the commit's.
    """
    return {
        hash
        for script, result in _committing_calls(turn)
        if not _MESSAGE.search(script) or _has_subject(script, subject)
        for hash in _HASH.findall(result.text)
    }


def mentions_subject(turn: Turn, subject: str) -> bool:
    """Return whether a command that commits, or its output, has a whole subject."""
    return bool(subject) and any(
        _has_subject(text, subject)
        for script, result in _committing_calls(turn)
        for text in (script, result.text)
    )


def _has_subject(text: str, subject: str) -> bool:
    """Return whether a text has a subject that is not the beginning or the end of another one.

    In a script it is between quotes, after `-m`, or a line of its own. git reports it after `]`.
    """
    if subject in text:
        before, after = r"(?:^|[\"'\]=]|\s-\w*m)[ \t]*", r"[ \t]*(?:$|[\"';&|])"
        if re.search(before + re.escape(subject) + after, text, re.MULTILINE):
            return True
    # A shell needs more quotes for a subject that has some.
    is_quoted = _unquote(subject) != subject
    return is_quoted and _unquote(subject) in _unquote(text)


def _unquote(text: str) -> str:
    """Return a text without what a shell needs to quote it."""
    return text.translate(_QUOTES)


def _committing_calls(turn: Turn) -> Iterator[tuple[str, ToolResult]]:
    """Yield the scripts that commit, with their results."""
    for call in turn.calls():
        script = "\n".join(strings(call.input)) if base_name(call.name) in SHELL_TOOLS else ""
        if call.result is not None and _COMMITTING.search(script):
            yield script, call.result
