"""Colors that programs wrote into their output. They are no part of its text.

A color directly before a word would join its code with it: nobody finds `PASS` as `32mPASS`.
"""

from __future__ import annotations

from ccgrep.lazy_re import compile_pattern

_COLOR = "\x1b\\[[0-9;:]*[mK]"
"""A color, or clearing the rest of a line, as `grep --color` does after each color."""


def drop_colors(text: str) -> str:
    """Return `text` without the escape sequences for colors."""
    # Looking for a single character takes a tenth of the time.
    return compile_pattern(_COLOR).sub("", text) if "\x1b" in text else text
