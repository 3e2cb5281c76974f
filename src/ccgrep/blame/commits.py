"""Finds the git commits that a turn made, as its shell commands show them. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.model import ToolCall, Turn
from ccgrep.sources.file_tools import SHELL_TOOLS

_COMMAND = re.compile(r"\bgit\b[^\n;&|]*\bcommit\b")
_PRINTED = re.compile(r"^\[[^\]\n]+ ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_MESSAGE = re.compile(
    r"\bcommit\b[^\n]*?\s-[a-zA-Z]*m\s*"
    r"(?:\"\$\(cat <<-?\s*['\"]?\w+['\"]?\n\s*([^\n]+)|\"([^\"\n]+)|'([^'\n]+))"
)


class MadeCommit(NamedTuple):
    """A commit with its short id, or "" if git did not print it."""

    id: str
    subject: str


def made_commits(turn: Turn) -> Iterator[MadeCommit]:
    """Yield the commits of a turn, in order."""
    for call in turn.calls():
        if _base_name(call) in SHELL_TOOLS and call.result and not call.result.is_error:
            script = "\n".join(_strings(call.input))
            if _COMMAND.search(script):
                yield from _commits(script, call.result.text)


def _commits(script: str, output: str) -> Iterator[MadeCommit]:
    printed = [MadeCommit(*match.groups()) for match in _PRINTED.finditer(output)]
    if printed:
        yield from printed
        return
    for match in _MESSAGE.finditer(script):
        yield MadeCommit("", next(filter(None, match.groups())).strip())


def _base_name(call: ToolCall) -> str:
    return call.name.lower().rpartition("__")[2]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
