"""Terminal colours."""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _colour(code: str) -> Callable[[Style, str], str]:
    return lambda style, text: f"\x1b[{code}m{text}\x1b[0m" if style.is_on else text


class Style:
    """ANSI colours. Without `is_on` every method returns its text unchanged."""

    def __init__(self, is_on: bool = False) -> None:
        self.is_on = is_on

    bold = _colour("1")
    dim = _colour("2")
    red = _colour("1;31")
    magenta = _colour("35")
    bold_cyan = _colour("1;36")
    green = _colour("32")
    cyan = _colour("36")
