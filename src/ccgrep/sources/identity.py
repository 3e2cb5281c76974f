"""What a source file's place says about the session in it.

Ids go into record lines, and so follow a strict grammar; a name that does not is
replaced by a hash of it.
"""

import os

import msgspec

from ccgrep.hashing import sha256
from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.files import read_side_file
from ccgrep.sources.reading import File

# `~` is for ccgrep's own use: it numbers namesakes.
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{7,60}"
_UUID_AT_END = r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=$|_)"
_WORKERS = ("agent-acompact-", "agent-aprompt_suggestion-", "agent-aside_question-")


def safe_id(name: str) -> str:
    """`name` where it may stand in a record line, else a hash of it."""
    if compile_pattern(_ID).fullmatch(name):
        return name
    return "x" + sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def is_of_agent(path: str) -> bool:
    """Whether a transcript of Claude Code is that of a sub-agent or worker, not of a person."""
    folder, name = os.path.split(path)
    return name.startswith("agent-") or "subagents" in folder.split(os.sep)


def claude_file(path: str) -> File:
    """Id, kind and parent of a transcript under `projects/<slug>/`."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".jsonl")
    if not is_of_agent(path):
        return File(safe_id(stem))
    parent = ""
    above = folder.split(os.sep)
    if "subagents" in above:
        parent = safe_id(above[len(above) - 1 - above[::-1].index("subagents") - 1])
    meta = _meta(os.path.join(folder, stem + ".meta.json"))
    return File(
        id=safe_id(stem),
        kind="worker" if stem.startswith(_WORKERS) else "subagent",
        parent=parent,
        description=meta.get("description", "") or meta.get("name", ""),
        agent=meta.get("agentType", ""),
    )


def codex_file(path: str) -> File:
    """The id that a rollout's name gives, for files whose first line does not."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".zst").removesuffix(".jsonl")
    if stem == "rollout":
        return File(safe_id(os.path.basename(folder)))
    found = compile_pattern(_UUID_AT_END).search(stem)
    return File(found.group() if found else safe_id(stem))


def session_folder(path: str) -> tuple[str, str]:
    """The project's folder, and the id under which the session keeps its spilled outputs."""
    folder, name = os.path.split(path)
    if f"{os.sep}subagents" in folder:
        folder, _, _ = folder.rpartition(f"{os.sep}subagents")
        return os.path.split(folder)
    return folder, name.removesuffix(".jsonl")


def _meta(path: str) -> dict[str, str]:
    content = read_side_file(path, 64 * 1024)
    try:
        meta = msgspec.json.decode(content or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(meta, dict):
        return {}
    return {key: value for key, value in meta.items() if isinstance(value, str)}
