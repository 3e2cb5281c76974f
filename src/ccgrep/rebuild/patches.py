"""Converts between Codex's patches and the edits of Claude Code.

*** Begin Patch
*** Update File: notes.md
@@
 a line that stays
-a line that goes
+a line that comes
*** End Patch
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE = "*** Add File: ", "*** Update File: "


class Edit(NamedTuple):
    """A change of one file: `new` replaces `old`, or the whole file if `old` is None."""

    path: str
    new: str
    old: str | None = None


def write_patch(edits: Sequence[Edit]) -> str:
    """Return a patch that makes the edits."""
    lines = [_BEGIN]
    for edit in edits:
        if edit.old is None:
            lines += [_ADD + edit.path, *_prefix("+", edit.new)]
        else:
            lines += [_UPDATE + edit.path, "@@", *_prefix("-", edit.old), *_prefix("+", edit.new)]
    return "\n".join([*lines, _END])


def _prefix(sign: str, text: str) -> list[str]:
    return [sign + line for line in text.splitlines()]


def parse_patch(patch: str) -> list[Edit]:
    """Return the edits of a patch, or none if it also deletes or moves files."""
    lines = patch.strip().splitlines()
    if len(lines) < 2 or lines[0] != _BEGIN or lines[-1] != _END:
        return []
    edits: list[Edit] = []
    for path, is_new, hunk in _split_hunks(lines[1:-1]):
        if not path:
            return []
        new = "\n".join(line[1:] for line in hunk if line[:1] in ("+", " "))
        old = "\n".join(line[1:] for line in hunk if line[:1] in ("-", " "))
        edits.append(Edit(path, f"{new}\n" if is_new else new, None if is_new else old))
    return edits


def _split_hunks(lines: Sequence[str]) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield the path of each hunk, whether it is a new file, and its lines.

    The path is empty for anything that no edit can express.
    """
    path, is_new, hunk = "", False, list[str]()
    for line in lines:
        if not line.startswith(("*** ", "@@")):
            hunk.append(line)
            continue
        if hunk:
            yield path, is_new, hunk
            hunk = []
        if line.startswith((_ADD, _UPDATE)):
            is_new = line.startswith(_ADD)
            path = line.removeprefix(_ADD).removeprefix(_UPDATE)
        elif line.startswith("*** ") and line != "*** End of File":
            yield "", False, []
    if hunk:
        yield path, is_new, hunk
