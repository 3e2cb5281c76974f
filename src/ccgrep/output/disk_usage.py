"""Formats how much each project takes."""

from collections.abc import Iterator, Sequence
from typing import Any

from ccgrep.ops.disk_usage import ProjectUsage
from ccgrep.output.formatting import byte_size, pluralize
from ccgrep.text import clip, one_line


def usage_lines(projects: Sequence[ProjectUsage]) -> Iterator[str]:
    """Yield DISK, STORED, SESSIONS, TURNS and PROJECT, as bytes and numbers."""
    for usage in projects:
        sizes = (usage.disk_bytes, usage.store_bytes, usage.sessions, usage.turns)
        yield "\t".join((*map(str, sizes), one_line(usage.project) or "-"))


def usage_table(projects: Sequence[ProjectUsage], store_bytes: int, width: int) -> Iterator[str]:
    yield f"{'on disk':>10} {'in store':>10} {'sessions':>9} {'turns':>8}  project"
    for usage in projects:
        sizes = f"{byte_size(usage.disk_bytes):>10} {byte_size(usage.store_bytes):>10}"
        counts = f"{usage.sessions:>9,} {usage.turns:>8,}"
        name = clip(one_line(usage.project) or "-", max(width - 42, 10))
        yield f"{sizes} {counts}  {name}"
    rest = max(store_bytes - sum(usage.store_bytes for usage in projects), 0)
    yield f"{'':>10} {byte_size(rest):>10}  of indexes, images and the rest of the store"
    disk = sum(usage.disk_bytes for usage in projects)
    total = pluralize(len(projects), "project")
    yield f"{byte_size(disk):>10} {byte_size(store_bytes):>10}  in {total}"


def usage_fields(projects: Sequence[ProjectUsage], store_bytes: int) -> dict[str, Any]:
    return {
        "store_bytes": store_bytes,
        "projects": [
            {
                "project": usage.project or None,
                "sessions": usage.sessions,
                "turns": usage.turns,
                "disk_bytes": usage.disk_bytes,
                "store_bytes": usage.store_bytes,
            }
            for usage in projects
        ],
    }
