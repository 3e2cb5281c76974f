"""Fast replacements of `NamedTuple`, `Protocol` and `SimpleNamespace` for the search path.

Importing typing takes 5 ms, and each class that its NamedTuple creates 0.25 ms: together an eighth
of a search. A type checker sees the originals. Modules that use this one need `from __future__
import annotations`, and import types for annotations under `TYPE_CHECKING`.
"""

from __future__ import annotations

import sys
from _operator import itemgetter  # Importing operator takes 0.5 ms.

__all__ = ["TYPE_CHECKING", "NamedTuple", "Protocol", "SimpleNamespace"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace
    from typing import NamedTuple, Protocol
else:
    Protocol = object
    SimpleNamespace = type(sys.implementation)

    _MISSING = object()

    class _NamedTupleMeta(type):
        def __new__(cls, name, bases, space):
            if not bases:
                return super().__new__(cls, name, (tuple,), {**space, "__slots__": ()})
            fields = tuple(space["__annotations__"])
            defaults = {field: space.pop(field) for field in fields if field in space}
            own = {"__slots__": (), "_fields": fields, "_field_defaults": defaults}
            own["_last"] = tuple(defaults.values())  # Fields with defaults come last.
            own["_blank"] = (_MISSING,) * (len(fields) - len(defaults)) + own["_last"]
            own["_places"] = {field: place for place, field in enumerate(fields)}
            getters = {field: property(itemgetter(n)) for n, field in enumerate(fields)}
            return super().__new__(
                cls, name, bases, {**space, **own, **getters, "__match_args__": fields}
            )

    class NamedTuple(metaclass=_NamedTupleMeta):
        _fields = _last = _blank = ()

        def __new__(cls, *values, **named):
            missing = len(cls._fields) - len(values)
            if named or missing < 0 or missing > len(cls._last):
                values = _fill(cls, values, named)
            elif missing:
                values += cls._last[-missing:]
            return tuple.__new__(cls, values)

        def _replace(self, **named):
            values = [
                named.pop(field, value) for field, value in zip(self._fields, self, strict=True)
            ]
            if named:
                raise TypeError(f"{type(self).__name__} has no field {', '.join(named)}")
            return tuple.__new__(type(self), values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            pairs = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(pairs)})"

    def _fill(cls, values, named):
        """Return all values of a new tuple, with defaults for missing ones."""
        given = len(values)
        filled = [*values, *cls._blank[given:]]
        for field, value in named.items():
            place = cls._places.get(field, -1)
            if place < given:
                break
            filled[place] = value
        else:
            if given <= len(cls._fields) and _MISSING not in filled:
                return filled
        raise TypeError(
            f"{cls.__name__} has the fields {', '.join(cls._fields)}, not {values} and {named}"
        )
