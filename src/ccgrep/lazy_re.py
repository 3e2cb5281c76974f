"""Regular expressions, compiled at first use.

Importing re takes 8 ms, half of the start-up time of Python, and compiling a pattern up to 1 ms. A
search in ordinary text needs no pattern, so modules on the search path use this instead of re.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

_compiled: dict[str | bytes, re.Pattern[Any]] = {}


def compile_pattern(pattern: AnyStr) -> re.Pattern[AnyStr]:
    compiled = _compiled.get(pattern)
    if compiled is None:
        import re  # noqa: PLC0415 - see above

        compiled = _compiled[pattern] = re.compile(pattern)
    return compiled
