"""Finds the sessions of Claude Code's project directories whose names match a glob."""

import os
from fnmatch import fnmatchcase
from functools import lru_cache

from ccgrep.config import Config
from ccgrep.store.lifecycle import open_store
from ccgrep.store.refs import read_head


def find_project_sessions(config: Config, glob: str) -> frozenset[str]:
    """Return the ids of the sessions in matching project directories."""
    tops = tuple(
        os.path.join(os.path.realpath(root.path), "projects", "")
        for root in config.roots
        if root.source == "claude_code"
    )
    return _find_sessions(config.store_dir, read_head(config.store_dir), tops, glob)


@lru_cache(maxsize=1)
def _find_sessions(store_dir: str, _head: str, tops: tuple[str, ...], glob: str) -> frozenset[str]:
    return frozenset(
        row.session.id
        for row in open_store(store_dir).rows()
        if any(fnmatchcase(_project_dir(file.path, tops), glob) for file in row.files)
    )


def _project_dir(path: str, tops: tuple[str, ...]) -> str:
    """Return the name of a transcript's project directory, or an empty text if it has none."""
    top = next((top for top in tops if path.startswith(top)), None)
    return path[len(top) :].partition(os.sep)[0] if top is not None else ""
