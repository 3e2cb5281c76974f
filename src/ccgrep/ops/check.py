"""The look at the source files that a search begins with, before anything else is imported."""

from ccgrep.config import Config
from ccgrep.index.freshness import Check, start_check


def begin_check(config: Config) -> Check:
    """Begins to look for changes in a child, which also takes in what only grew."""

    def take_in(paths: list[str]) -> bool:
        from ccgrep.ops.append import take_in  # noqa: PLC0415 - only if something changed

        return take_in(config, paths)

    return start_check(config.store_dir, config.roots, take_in)
