"""Imports msgspec without what it takes along and ccgrep does not need: half of the time.

That is typing_extensions, which it takes before typing where it is installed; decimal and uuid, for
types that no turn has; and its own modules for schemas, TOML and YAML. Nobody else is kept from
importing any of them: they are hidden for the time of that one import, and what is imported later
is the real thing. A msgspec that does not get along with this is imported as it is.
"""

from __future__ import annotations

import sys
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
    if "msgspec" in sys.modules:
        return
    hidden: dict[str, ModuleType | None] = {"typing_extensions": None}
    hidden |= {module: _stand_in(module, names) for module, names in _HIDDEN.items()}
    hidden = {module: one for module, one in hidden.items() if module not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]
    try:
        import msgspec  # noqa: F401, PLC0415 - for those who import it later
    except (ImportError, AttributeError):
        for module in [name for name in sys.modules if name.partition(".")[0] == "msgspec"]:
            del sys.modules[module]
    finally:
        for module in hidden:
            sys.modules.pop(module, None)


def _stand_in(module: str, names: tuple[str, ...]) -> ModuleType:
    """A module with classes of these names, of which there are no objects."""
    made = ModuleType(module)
    for name in names:
        setattr(made, name, type(name, (), {"unknown": None}))  # uuid's SafeUUID has that
    return made
