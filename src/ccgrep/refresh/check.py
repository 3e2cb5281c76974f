"""The look at the source files that a search begins with, before anything else is imported.

The child that looks is told where to take in from: to read the settings once more would take as
long as to look at a thousand transcripts.
"""

from __future__ import annotations

import os

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.refresh.look import Check, begin, where_lines

if TYPE_CHECKING:
    from ccgrep.config import Config
    from ccgrep.refresh.look import TakeIn
    from ccgrep.sources.scan import Root


def begin_early(store_dir: str) -> Check:
    """Begins to look for changes in a child, on the guess that this is the store.

    If it is, and somebody wants that, the child also takes in what only grew.
    """

    def load() -> TakeIn:
        # Only if something changed.
        from ccgrep.quick import import_msgspec  # noqa: PLC0415

        import_msgspec()
        from ccgrep.refresh.append import Waiting, take_in  # noqa: PLC0415

        return lambda paths, told, line: take_in(store_dir, *_heard(told), paths, Waiting(line))

    return begin(store_dir, load)


def begin_check(config: Config, early: Check | None = None) -> Check:
    """A look that is wanted: the one that was begun early, if it is at the right store."""
    if early is not None and early.store_dir != config.store_dir:
        early.close()
        early = None
    check = early or begin_early(config.store_dir)
    check.want(where_lines([root.path for root in config.roots], config.exclude), _told(config))
    return check


def _told(config: Config) -> bytes:
    roots = [f"{root.source} {root.path}" for root in config.roots]
    return b"\0".join(map(os.fsencode, (*roots, "", *config.exclude)))


def _heard(told: bytes) -> tuple[list[Root], tuple[str, ...]]:
    """Where to take in from, and what not."""
    from ccgrep.sources.scan import Root  # noqa: PLC0415 - only if something changed

    words = [os.fsdecode(word) for word in told.split(b"\0")]
    end = words.index("")
    parts = [word.partition(" ") for word in words[:end]]
    roots = [Root(path, "codex" if name == "codex" else "claude_code") for name, _, path in parts]
    return roots, tuple(words[end + 1 :])
