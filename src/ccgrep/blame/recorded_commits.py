"""Finds the commits that a turn made, by what git printed. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.blame.file_access import base_name, strings
from ccgrep.model import Turn
from ccgrep.sources.file_tools import SHELL_TOOLS

_COMMITTING = re.compile(r"\bgit\b[^\n]*\b(?:commit|merge|rebase|cherry-pick|revert|am)\b")
_REPORT = re.compile(r"^\[[^\]\n]{1,250} ([0-9a-f]{7,40})\] (.*)$", re.MULTILINE)
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


class RecordedCommit(NamedTuple):
    """A commit as git reported it: the beginning of its hash, and its subject."""

    hash: str
    subject: str


def recorded_commits(turn: Turn) -> Iterator[RecordedCommit]:
    """Yield the commits in reports such as `[main 4be71d0] Fix the login test`."""
    for _, output in _committing_calls(turn):
        for hash, subject in _REPORT.findall(output):
            yield RecordedCommit(hash, subject.strip())


def mentions_subject(turn: Turn, subject: str) -> bool:
    """Return whether a command that commits, or its output, has a subject."""
    return bool(subject) and any(
        subject in text for command, output in _committing_calls(turn) for text in (command, output)
    )


def printed_hashes(turn: Turn) -> set[str]:
    """Return what looks like a hash in the output of commands that commit."""
    return {hash for _, output in _committing_calls(turn) for hash in _HASH.findall(output)}


def _committing_calls(turn: Turn) -> Iterator[tuple[str, str]]:
    """Yield the commands that commit, with their output."""
    for call in turn.calls():
        command = " ".join(strings(call.input)) if base_name(call.name) in SHELL_TOOLS else ""
        if call.result is not None and _COMMITTING.search(command):
            yield command, call.result.text
