"""The look at the source files that a search begins with, before anything else is imported.

The child that looks is told where to take in from: to read the settings once more would take as
long as to look at a thousand transcripts.
"""

from __future__ import annotations

import os

from ccgrep.index.look import Check, begin, where_lines
from ccgrep.named import TYPE_CHECKING

if TYPE_CHECKING:
    from ccgrep.config import Config
    from ccgrep.index.look import TakeIn
    from ccgrep.index.messages import Line
    from ccgrep.sources.scan import Root


def begin_early(store_dir: str) -> Check:
    """Begins to look for changes in a child, on the guess that this is the store.

    If it is, and somebody wants that, the child also takes in what only grew.
    """

    def load() -> TakeIn:
        # Only if something changed.
        from ccgrep.quick import import_msgspec  # noqa: PLC0415

        import_msgspec()
        from ccgrep.ops.append import Waiting, take_in  # noqa: PLC0415

        def taken_in(paths: list[str], told: bytes, line: Line) -> bool:
            roots, exclude, is_writing = _heard(told)
            return take_in(store_dir, roots, exclude, paths, Waiting(line, is_writing))

        return taken_in

    return begin(store_dir, load)


def begin_check(config: Config, early: Check | None = None, is_writing: bool = False) -> Check:
    """A look that is wanted: the one that was begun early, if it is at the right store. What it
    takes in may be handed over, to be written to the text index, if who asks `is_writing`."""
    if early is not None and early.store_dir != config.store_dir:
        early.close()
        early = None
    check = early or begin_early(config.store_dir)
    where = where_lines([root.path for root in config.roots], config.exclude)
    check.want(where, _told(config, is_writing))
    return check


def _told(config: Config, is_writing: bool) -> bytes:
    roots = [f"{root.source} {root.path}" for root in config.roots]
    who = "writing" if is_writing else "waiting"
    return b"\0".join(map(os.fsencode, (who, *roots, "", *config.exclude)))


def _heard(told: bytes) -> tuple[list[Root], tuple[str, ...], bool]:
    """Where to take in from, what not, and whether the text index is written by who asks."""
    from ccgrep.sources.scan import Root  # noqa: PLC0415 - only if something changed

    who, *words = (os.fsdecode(word) for word in told.split(b"\0"))
    end = words.index("")
    parts = [word.partition(" ") for word in words[:end]]
    roots = [Root(path, "codex" if name == "codex" else "claude_code") for name, _, path in parts]
    return roots, tuple(words[end + 1 :]), who == "writing"
