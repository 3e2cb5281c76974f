"""Replays the log in which VS Code stores an object: a first value, then changes to parts of it.

    {"kind": 0, "v": VALUE}                the whole object
    {"kind": 1, "k": PATH, "v": VALUE}     set a property
    {"kind": 2, "k": PATH, "v": [...], "i": N}  cut an array to N items, if given, and add items
    {"kind": 3, "k": PATH}                 delete a property

The log is untrusted: a change that does not fit the object is ignored.
"""

from typing import Any

from msgspec import Struct


class Change(Struct, gc=False):
    """One line of a log."""

    kind: Any = None
    k: Any = None
    v: Any = None
    i: Any = None

    @staticmethod
    def is_record(value: dict[str, Any]) -> bool:
        return "kind" in value and ("k" in value or "v" in value)


class ReplayedObject:
    """An object, and what was cut from its array `watched`."""

    def __init__(self, watched: str) -> None:
        self.value: Any = None
        self.removed: list[Any] = []
        self._watched = watched

    def apply(self, change: Change) -> None:
        """Apply one change."""
        if change.kind == 0:
            self.value = change.v
            return
        path = change.k if isinstance(change.k, list) else []
        if not path:
            return
        parent = _find(self.value, path[:-1])
        match change.kind:
            case 1:
                _set(parent, path[-1], change.v)
            case 2:
                removed = _push(parent, path[-1], change.v, change.i)
                if path == [self._watched]:
                    self.removed += removed
            case 3 if isinstance(parent, dict) and isinstance(path[-1], str):
                parent.pop(path[-1], None)


def _find(value: Any, path: list[Any]) -> Any:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif _is_index(value, step):
            value = value[step]
        else:
            return None
    return value


def _is_index(value: Any, step: Any) -> bool:
    is_number = isinstance(step, int) and not isinstance(step, bool)
    return isinstance(value, list) and is_number and 0 <= step < len(value)


def _set(parent: Any, step: Any, value: Any) -> None:
    if (isinstance(parent, dict) and isinstance(step, str)) or _is_index(parent, step):
        parent[step] = value


def _push(parent: Any, step: Any, items: Any, length: Any) -> list[Any]:
    """Cut an array and add items to it. Return what was cut."""
    target = _find(parent, [step])
    if target is None and isinstance(parent, dict) and isinstance(step, str):
        target = parent[step] = []
    if not isinstance(target, list):
        return []
    removed: list[Any] = []
    if _is_index(target, length):
        removed = target[length:]
        del target[length:]
    if isinstance(items, list):
        target.extend(items)
    return removed
