"""Finds the rollouts of Codex sessions that were rewound.

A rewind leaves the rollout as it is and begins another one, `rollout-TIME-THREAD_ROLLOUT.jsonl`.
The first record of the new file has a `history_base`: it names the first record that the rewind
undid. ccgrep reads all rollouts of such a thread as one, in the order in which they were begun.
"""

import os
from collections.abc import Iterable, Mapping

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.codex_records import Record, parse_history_base
from ccgrep.sources.files import open_side_file
from ccgrep.sources.scan import FoundFile

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ROLLOUT = rf"rollout-.*-({_UUID})(?:_({_UUID}))?\.jsonl"
_MAX_HEAD_BYTES = 1024 * 1024


def group_segments(files: Mapping[str, FoundFile]) -> dict[str, tuple[FoundFile, ...]]:
    """Map the newest rollout of each rewound session to the earlier ones, the oldest first."""
    rewound = {thread for thread, rollout, _ in _rollouts(files.values()) if rollout}
    threads: dict[str, dict[str, FoundFile]] = {}
    for thread, rollout, found in _rollouts(files.values()) if rewound else ():
        if thread in rewound and (not rollout or _is_rewind(found)):
            threads.setdefault(f"{found.root} {thread}", {}).setdefault(rollout, found)
    groups = ([segments[rollout] for rollout in sorted(segments)] for segments in threads.values())
    return {newest.path: tuple(earlier) for *earlier, newest in groups if earlier}


def _rollouts(files: Iterable[FoundFile]) -> Iterable[tuple[str, str, FoundFile]]:
    """Yield the thread id, the rollout id (empty for a thread's first file) and the file."""
    for found in files:
        name = os.path.basename(found.path) if found.source == "codex" else ""
        if match := compile_pattern(_ROLLOUT).fullmatch(name):
            yield match[1], match[2] or "", found


def _is_rewind(found: FoundFile) -> bool:
    """Return whether a rollout's first record points into an earlier rollout."""
    file = open_side_file(found.path, found.root)
    if file is None:
        return False
    with file:
        head = file.readline(_MAX_HEAD_BYTES)
    try:
        record = msgspec.json.decode(head, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    payload = record.payload if isinstance(record.payload, dict) else {}
    return bool(parse_history_base(payload)[0])
