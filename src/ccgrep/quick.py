"""Imports msgspec without typing_extensions, which it takes before typing where it is installed.

That was an eighth of the instructions of `ccgrep list`, for the same names. Nobody else is kept
from importing it: it is hidden for the time of that one import.
"""

from __future__ import annotations

import sys

_HIDDEN = "typing_extensions"


def import_msgspec() -> None:
    if _HIDDEN in sys.modules or "msgspec" in sys.modules:
        return
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401, PLC0415 - for those who import it later
    except ImportError:
        return  # A later one may need it; whoever imports msgspec next has it.
    finally:
        del sys.modules[_HIDDEN]
