"""Imports msgspec, tantivy and re2 without what they take along and ccgrep does not need.

Of msgspec, where it is half of the time, that is typing_extensions, which it takes before typing
where it is installed; decimal and uuid, for types that no turn has; and its own modules for
schemas, TOML and YAML. Nobody else is kept from importing any of them: they are hidden for the time
of that one import, and what is imported later is the real thing. A library that does not get along
with this is imported as it is.

The first two ask datetime for its classes. Before Python 3.12 it has made them in Python when it
finds that there are better ones in _datetime: these are what it gives, so they are taken there. And
re2 remembers patterns by functools, which imports collections for that.
"""

from __future__ import annotations

import sys

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

_HIDDEN: dict[str, tuple[str, ...]] = {
    "decimal": ("Decimal",),
    "msgspec._json_schema": ("schema", "schema_components"),
    "msgspec.inspect": (),
    "msgspec.toml": (),
    "msgspec.yaml": (),
    "uuid": ("UUID", "SafeUUID"),
}
"""Modules, and the names that are looked for in them."""


def import_msgspec() -> None:
    stand_ins = {module: _stand_in(module, names) for module, names in _HIDDEN.items()}
    _import_without("msgspec", {"typing_extensions": None, **stand_ins, **_datetime()})


def import_tantivy() -> None:
    _import_without("tantivy", _datetime())


def import_datetime() -> ModuleType:
    """Datetime, or what of it is not made in Python."""
    return _datetime().get("datetime") or __import__("datetime")


def import_re2() -> None:
    functools = type(sys)("functools")
    functools.lru_cache = lambda **_: lambda function: function  # type: ignore[attr-defined]
    _import_without("re2", {"functools": functools})


def _import_without(name: str, hidden: Mapping[str, ModuleType | None]) -> None:
    if name in sys.modules:
        return
    hidden = {module: one for module, one in hidden.items() if module not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]
    try:
        __import__(name)  # for those who import it later
    except (ImportError, AttributeError):
        for module in [one for one in sys.modules if one.partition(".")[0] == name]:
            del sys.modules[module]
    finally:
        for module in hidden:
            sys.modules.pop(module, None)


def _datetime() -> dict[str, ModuleType]:
    if sys.version_info >= (3, 12):
        return {}
    try:
        import _datetime  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError:
        return {}
    return {"datetime": _datetime}


def _stand_in(module: str, names: tuple[str, ...]) -> ModuleType:
    """A module with classes of these names, of which there are no objects."""
    made = type(sys)(module)
    for name in names:
        setattr(made, name, type(name, (), {"unknown": None}))  # uuid's SafeUUID has that
    return made
