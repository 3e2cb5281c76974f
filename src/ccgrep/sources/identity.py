"""Derives a session's id, kind and parent from the path of its transcript.

Ids appear in record lines and therefore follow a strict grammar. A file name that does not match
the grammar is replaced by a hash of the name.
"""

import os

from ccgrep.hashing import sha256
from ccgrep.kinds import SourceName
from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.files import read_side_json
from ccgrep.sources.reading import SessionIdentity
from ccgrep.sources.values import as_count, as_string

# `~` is reserved: ccgrep appends `~2`, `~3`, ... to sessions that share an id.
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}"
_HASHED_ID = r"x[0-9a-f]{12}"
_UUID_AT_END = r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=$|_)"
_WORKERS = ("agent-acompact-", "agent-aprompt_suggestion-", "agent-aside_question-")
_MAX_META_BYTES = 64 * 1024


def safe_id(name: str) -> str:
    """Return `name` if it is a valid session id, else a hash of it."""
    if compile_pattern(_ID).fullmatch(name):
        return name
    return "x" + sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


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


def identify(source: SourceName, path: str) -> SessionIdentity:
    """Return what the path of a transcript or document says about its session."""
    if path.endswith(".md"):
        return SessionIdentity(document_id(path), "document")
    return _identify_claude(path) if source == "claude_code" else _identify_codex(path)


def _identify_claude(path: str) -> SessionIdentity:
    folder, name = os.path.split(path)
    stem = name.removesuffix(".jsonl")
    if not is_agent_transcript(path):
        return SessionIdentity(safe_id(stem))
    before, subagents, _ = f"{folder}{os.sep}".rpartition(f"{os.sep}subagents{os.sep}")
    meta = read_side_json(os.path.join(folder, stem + ".meta.json"), max_bytes=_MAX_META_BYTES)
    depth = as_count(meta.get("spawnDepth")) or 0
    return SessionIdentity(
        id=safe_id(stem),
        kind="worker" if stem.startswith(_WORKERS) else "subagent",
        parent=safe_id(os.path.basename(before)) if subagents else "",
        description=as_string(meta.get("description")) or as_string(meta.get("name")),
        agent=as_string(meta.get("agentType")),
        nesting_call=as_string(meta.get("toolUseId")) if depth > 1 else "",
    )


def _identify_codex(path: str) -> SessionIdentity:
    """Return the id in a rollout's name, for rollouts whose first line has none."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".zst").removesuffix(".jsonl")
    if stem == "rollout":
        return SessionIdentity(safe_id(os.path.basename(folder)))
    uuid = compile_pattern(_UUID_AT_END).search(stem)
    return SessionIdentity(uuid.group() if uuid else safe_id(stem))
