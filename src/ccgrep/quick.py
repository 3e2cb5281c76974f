"""Imports msgspec without what it takes along and does not need.

typing_extensions, which it takes before typing where it is installed, was an eighth of the
instructions of `ccgrep list`, for the same names. uuid asks platform, which compiles
patterns when it is imported, for the name of the system. Nobody else is kept from importing either:
they are hidden for the time of that one import.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType


def import_msgspec() -> None:
    if "msgspec" in sys.modules:
        return
    platform = ModuleType("platform")
    platform.system = lambda: os.uname().sysname  # type: ignore[attr-defined]
    hidden = {"typing_extensions": None, "platform": platform}
    hidden = {name: module for name, module in hidden.items() if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]
    try:
        import msgspec  # noqa: F401, PLC0415 - for those who import it later
    except ImportError:
        return  # A later one may need it; whoever imports msgspec next has it.
    finally:
        for name in hidden:
            del sys.modules[name]
