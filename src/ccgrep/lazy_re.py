"""Regular expressions, each made when it is first needed, and kept.

To import re takes 8 ms, half of what Python takes to start, and a pattern up to another one. A
search in ordinary text needs none, so no module on its way imports re: this does, when asked.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

_made: dict[str | bytes, re.Pattern[Any]] = {}


def compile_pattern(pattern: AnyStr) -> re.Pattern[AnyStr]:
    made = _made.get(pattern)
    if made is None:
        import re  # noqa: PLC0415 - see above

        made = _made[pattern] = re.compile(pattern)
    return made
