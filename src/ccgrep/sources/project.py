"""Maps a working directory to its project: the git root, if there is one."""

import os
from functools import lru_cache


@lru_cache(maxsize=4096)
def find_project(cwd: str) -> str:
    """Return the nearest directory at or above `cwd` that has a `.git`, else `cwd` itself."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        return cwd
    directory = os.path.normpath(cwd)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return cwd
        directory = parent
    return directory
