"""Turns Markdown into text that reads well in one line."""

from ccgrep.lazy_re import compile_pattern

_LINK = r"!?\[([^\[\]]*)\]\([^()\s]*\)"
_HEADING = r"(?m)^[ \t]*#{1,6}[ \t]+"
_RULE = r"(?m)^[ \t]*[-*_|=:][-*_|=: \t]+$"
_FENCE = r"(?m)^[ \t]*(?:```|~~~).*$"
_EMPHASIS = r"`+|~~|(?<![A-Za-z0-9/*])\*\*(?=[^\s/*])|(?<=[^\s/*])\*\*(?![A-Za-z0-9/*])"
"""In `src/**/*.py`, two stars are no mark."""


def strip_markup(text: str) -> str:
    """Return `text` without the marks of Markdown but those of lists; of links, the words."""
    if "](" in text:
        text = compile_pattern(_LINK).sub(r"\1", text)
    for mark in (_FENCE, _HEADING, _RULE, _EMPHASIS):
        text = compile_pattern(mark).sub("", text)
    return text
