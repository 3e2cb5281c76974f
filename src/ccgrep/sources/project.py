"""The project that a working directory belongs to: its git root where there is one."""

import os
from functools import lru_cache


@lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """The nearest directory with a `.git` at or above `cwd`, else `cwd` itself."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        return cwd
    directory = os.path.normpath(cwd)
    while True:
        if os.path.lexists(os.path.join(directory, ".git")):
            return directory
        above = os.path.dirname(directory)
        if above == directory:
            return cwd
        directory = above
