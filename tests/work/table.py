"""The table of accepted counts for each command, and the differences from it.

`python -m tests.work.accept` writes it. Its diff shows what a change costs.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.work.operations import Counts

PATH = Path(__file__).with_name("counts.json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

AT_MOST = ("bytes written", "library modules")
"""Counts that may be lower: inode and process numbers differ in length, libraries in imports."""
RACING = "search, one turn appended"
"""The step whose parent searches while the child ingests. Its first search may open files of the
snapshot that the child writes meanwhile."""
_MAY_REPEAT = ("store stat calls", "store files opened", "store directories opened")


def read_accepted() -> dict[str, Counts]:
    found = json.loads(PATH.read_text())
    operations: dict[str, Counts] = found["operations"]
    if found["python"] != PYTHON:
        for counts in operations.values():
            counts.pop("library modules", None)
    return operations


def accept(was: Mapping[str, Counts], now: Mapping[str, Counts]) -> None:
    """Write the table, but keep counts that differ only by chance."""
    operations = {
        name: {count: _accepted(count, was.get(name, {}), new) for count, new in counts.items()}
        for name, counts in now.items()
    }
    made = {"python": PYTHON, "operations": operations}
    PATH.write_text(json.dumps(made, indent=1) + "\n")


def _accepted(count: str, was: Counts, new: int) -> int:
    old = was.get(count, new)
    return old if abs(new - old) <= _most(count, old) - old else new


def differences(was: Mapping[str, Counts], now: Mapping[str, Counts]) -> Iterator[str]:
    """Yield a line for each count that differs from the accepted one."""
    for operation in sorted({*was} ^ {*now}):
        yield f"{operation}: {'not counted' if operation in was else 'not in the table'}"
    for operation in (name for name in was if name in now):
        before, after = was[operation], now[operation]
        one_search = was["search --no-refresh"] if operation == RACING else {}
        for count in sorted({*before, *after}):
            if count == "library modules" and count not in before:
                continue  # The table is from another Python.
            old, new = before.get(count, 0), after.get(count, 0)
            most = _most(count, old)
            if count in _MAY_REPEAT:
                most += 2 * one_search.get(count, 0)
            if new > most:
                yield f"{operation}: {count} grew from {old:,} to {new:,}"
            elif new < old == most and count not in AT_MOST:
                yield f"{operation}: {count} fell from {old:,} to {new:,}: accept it"


def _most(count: str, old: int) -> int:
    return old + old // 20 + 10 if count == "bytes written" else old
