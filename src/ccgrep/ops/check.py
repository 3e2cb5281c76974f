"""The look at the source files that a search begins with, before anything else is imported."""

from __future__ import annotations

from ccgrep.config import Config
from ccgrep.index.freshness import Check, start_check
from ccgrep.named import TYPE_CHECKING

if TYPE_CHECKING:
    from ccgrep.index.freshness import TakeIn


def begin_check(config: Config) -> Check:
    """Begins to look for changes in a child, which also takes in what only grew."""

    def load() -> TakeIn:
        # Only if something changed.
        from ccgrep.quick import import_msgspec  # noqa: PLC0415

        import_msgspec()
        from ccgrep.ops.append import take_in  # noqa: PLC0415

        return lambda paths, on_ready: take_in(config, paths, on_ready)

    return start_check(config.store_dir, config.roots, load)
