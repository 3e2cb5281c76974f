"""Formats what `ccgrep prune` found and deleted."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ccgrep.ops.prune import Candidate
from ccgrep.output.formatting import iso_time, pluralize
from ccgrep.store.pruned import PrunedFile
from ccgrep.text import one_line

_REASONS = {
    "not stored": "the store does not have every byte: run `ccgrep index`",
    "changed": "changed meanwhile",
    "open": "open in another process: quit the agent first",
    "unreadable": "cannot be read",
    "not deleted": "cannot be deleted: see who may write to its directory",
}


def candidate_lines(found: Iterable[Candidate]) -> Iterator[str]:
    """Yield STATE, SIZE and PATH of each transcript that is old enough."""
    for one in found:
        yield f"{one.state}\t{one.size}\t{one_line(one.path)}"


def kept_lines(states: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each reason to keep transcripts."""
    for state, reason in _REASONS.items():
        if states.get(state):
            yield f"{pluralize(states[state], 'transcript')} kept: {reason}"


def candidate_fields(found: Iterable[Candidate]) -> dict[str, Any]:
    files = list(found)
    freed = sum(one.freed for one in files if one.state == "deleted")
    return {
        "freed_bytes": freed,
        "deletable_bytes": sum(one.freed for one in files if one.state == "deletable"),
        "files": [
            {
                "path": one.path,
                "session_id": one.session,
                "size": one.size,
                "state": one.state,
                "sha256": one.sha256 or None,
            }
            for one in files
        ],
    }


def pruned_lines(files: Iterable[PrunedFile]) -> Iterator[str]:
    """Yield TIME, SESSION, SIZE and PATH of each deleted transcript."""
    for file in files:
        when = iso_time(file.when) or "-"
        yield f"{when}\t{one_line(file.session)}\t{file.size}\t{one_line(file.path)}"


def pruned_fields(files: Iterable[PrunedFile]) -> dict[str, Any]:
    return {
        "pruned": [
            {
                "pruned_at": iso_time(file.when),
                "session_id": file.session,
                "size": file.size,
                "sha256": file.sha256,
                "path": file.path,
            }
            for file in files
        ]
    }
