"""Which sessions belong to project directories of Claude Code, chosen by a glob of their names."""

import os
from fnmatch import fnmatchcase
from functools import lru_cache

from ccgrep.config import Config
from ccgrep.store.lifecycle import open_store
from ccgrep.store.refs import read_head


def sessions_in(config: Config, glob: str) -> frozenset[str]:
    """The ids of the sessions whose project directory has such a name."""
    tops = tuple(
        os.path.join(os.path.realpath(root.path), "projects", "")
        for root in config.roots
        if root.source == "claude_code"
    )
    return _sessions_in(config.store_dir, read_head(config.store_dir), tops, glob)


@lru_cache(maxsize=1)
def _sessions_in(store_dir: str, _head: str, tops: tuple[str, ...], glob: str) -> frozenset[str]:
    return frozenset(
        row.session.id
        for row in open_store(store_dir).rows()
        if any(fnmatchcase(_folder(file.path, tops), glob) for file in row.files)
    )


def _folder(path: str, tops: tuple[str, ...]) -> str:
    """The project directory that a transcript is in; nothing if it is in none."""
    top = next((top for top in tops if path.startswith(top)), None)
    return path[len(top) :].partition(os.sep)[0] if top is not None else ""
