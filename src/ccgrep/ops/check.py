"""The look at the source files that a search begins with, before anything else is imported."""

from __future__ import annotations

from ccgrep.index.look import Check, begin
from ccgrep.named import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.config import Config
    from ccgrep.index.look import TakeIn


def begin_early(store_dir: str, make_config: Callable[[], Config]) -> Check:
    """Begins to look for changes in a child, on the guess that this is the store.

    If it is, and somebody wants that, the child also takes in what only grew.
    """

    def load() -> TakeIn:
        # Only if something changed.
        from ccgrep.quick import import_msgspec  # noqa: PLC0415

        import_msgspec()
        from ccgrep.ops.append import take_in  # noqa: PLC0415

        config = make_config()
        return lambda paths, on_ready: take_in(config, paths, on_ready)

    return begin(store_dir, load)


def begin_check(config: Config, early: Check | None = None) -> Check:
    """A look that is wanted: the one that was begun early, if it is at the right store."""
    if early is not None and early.store_dir != config.store_dir:
        early.close()
        early = None
    check = early or begin_early(config.store_dir, lambda: config)
    check.want([root.path for root in config.roots])
    return check
