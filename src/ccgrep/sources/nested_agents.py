"""Finds the agent that started a nested sub-agent of Claude Code.

All sub-agents of a session are in one folder. The side file of a nested one names the call that
started it, and another agent's transcript holds that call.
"""

import os
from functools import lru_cache

from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.files import read_side_file
from ccgrep.sources.identity import safe_id

_AGENT_CALL = rb'"id":"([A-Za-z0-9_-]{1,100})","name":"(?:Agent|Task)"'


def find_starter(path: str, root: str, call_id: str) -> str:
    """Return the id of the agent that made a call, or an empty text if it is not found."""
    folder = os.path.dirname(path)
    try:
        with os.scandir(folder) as listing:
            names = [entry.name for entry in listing if entry.name.endswith(".jsonl")]
            stamp = tuple(sorted((name, _size(folder, name)) for name in names))
    except OSError:
        return ""
    return _read_calls(folder, root, stamp).get(call_id, "")


def _size(folder: str, name: str) -> int:
    return os.lstat(os.path.join(folder, name)).st_size


@lru_cache(maxsize=4)  # The nested agents of a folder are read one after the other.
def _read_calls(folder: str, root: str, stamp: tuple[tuple[str, int], ...]) -> dict[str, str]:
    """Map the calls that started agents to the agents that made them."""
    calls: dict[str, str] = {}
    for name, _ in stamp:
        content = read_side_file(os.path.join(folder, name), root) or b""
        for call_id in compile_pattern(_AGENT_CALL).findall(content):
            calls[call_id.decode()] = safe_id(name.removesuffix(".jsonl"))
    return calls
