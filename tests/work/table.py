"""The table of counts, operation by operation: what it says, and what differs from it.

`python -m tests.work.accept` writes it anew; what has changed is then seen in its diff.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.work.operations import Counts

PATH = Path(__file__).with_name("counts.json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

AT_MOST = ("bytes written", "library modules")
"""Counts that may be lower: numbers of inodes and processes have more digits or fewer, and what a
library imports is its own affair."""
RACING = "search, one turn appended"
"""It may have begun to search before the change was seen. Then it is searched twice, and what was
taken in meanwhile is opened for the first search, too."""
_ONCE_MORE = ("store files looked at", "store files opened", "store folders opened")


def accepted() -> dict[str, Counts]:
    found = json.loads(PATH.read_text())
    operations: dict[str, Counts] = found["operations"]
    if found["python"] != PYTHON:
        for counts in operations.values():
            counts.pop("library modules", None)
    return operations


def accept(was: Mapping[str, Counts], now: Mapping[str, Counts]) -> None:
    """Writes the table; what differs by chance alone stays as it was."""
    operations = {
        name: {count: _kept(count, was.get(name, {}), new) for count, new in counts.items()}
        for name, counts in now.items()
    }
    made = {"python": PYTHON, "operations": operations}
    PATH.write_text(json.dumps(made, indent=1) + "\n")


def _kept(count: str, was: Counts, new: int) -> int:
    old = was.get(count, new)
    return old if abs(new - old) <= _most(count, old) - old else new


def differences(was: Mapping[str, Counts], now: Mapping[str, Counts]) -> Iterator[str]:
    """A line for each count that is not what was accepted."""
    for operation in sorted({*was} ^ {*now}):
        yield f"{operation}: {'not counted' if operation in was else 'not in the table'}"
    for operation in (name for name in was if name in now):
        before, after = was[operation], now[operation]
        once_more = was["search --no-refresh"] if operation == RACING else {}
        for count in sorted({*before, *after}):
            if count == "library modules" and count not in before:
                continue  # The table is another Python's.
            old, new = before.get(count, 0), after.get(count, 0)
            most = _most(count, old)
            if count in _ONCE_MORE:
                most += 2 * once_more.get(count, 0)
            if new > most:
                yield f"{operation}: {count} grew from {old:,} to {new:,}"
            elif new < old == most and count not in AT_MOST:
                yield f"{operation}: {count} fell from {old:,} to {new:,}: accept it"


def _most(count: str, old: int) -> int:
    return old + old // 20 + 10 if count == "bytes written" else old
