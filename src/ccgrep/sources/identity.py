"""Makes the ids of sessions and documents.

Ids appear in record lines and therefore follow a strict grammar. A file name that does not match
the grammar is replaced by a hash of the name.
"""

import os

from ccgrep.hashing import sha256
from ccgrep.lazy_re import compile_pattern

# `~` is reserved: ccgrep appends `~2`, `~3`, ... to sessions that share an id.
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}"
_HASHED_ID = r"x[0-9a-f]{12}"


def safe_id(name: str) -> str:
    """Return `name` if it is a valid session id, else a hash of it."""
    if compile_pattern(_ID).fullmatch(name):
        return name
    return "x" + sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def stable_id(source: str, text: str) -> str:
    """Return the id of a session whose client gives it none, from text that identifies it."""
    digest = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{source}-{digest}"


def document_id(path: str) -> str:
    """Return the id of the document at `<folder>/memory/<name>` or `plans/<name>`.

    It follows from the place below the root, so that a copy of the root has the same documents.
    """
    parts = path.split(os.sep)
    names = parts[-3:] if parts[-2:-1] == ["memory"] else parts[-2:]
    return "doc-" + sha256("/".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def is_hashed_id(id: str) -> bool:
    """Return whether `safe_id` made up this id, so that the client does not know it."""
    return compile_pattern(_HASHED_ID).fullmatch(id) is not None


def is_agent_transcript(path: str) -> bool:
    """Return whether a Claude Code transcript belongs to a sub-agent or worker."""
    folder, name = os.path.split(path)
    return name.startswith("agent-") or "subagents" in folder.split(os.sep)
