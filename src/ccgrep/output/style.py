"""Terminal colours."""

from __future__ import annotations

from ccgrep.light_typing import NamedTuple


class Style(NamedTuple):
    """ANSI colours. Without `is_on` every method returns its text unchanged."""

    is_on: bool = False

    def bold(self, text: str) -> str:
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        return self._wrap("2", text)

    def red(self, text: str) -> str:
        return self._wrap("1;31", text)

    def magenta(self, text: str) -> str:
        return self._wrap("35", text)

    def bold_cyan(self, text: str) -> str:
        return self._wrap("1;36", text)

    def green(self, text: str) -> str:
        return self._wrap("32", text)

    def cyan(self, text: str) -> str:
        return self._wrap("36", text)

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on else text
