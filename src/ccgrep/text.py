"""The only way from untrusted text to output: redact, escape, one_line and clip.

Transcripts may contain terminal escapes, bidi overrides, zero-width and tag characters, newlines in
titles and paths, and secrets. Everything that is printed passes through here, also into pipes,
because fzf's preview window and agents read those. Text is redacted before it is truncated, so that
no half of a secret remains.
"""

from __future__ import annotations

from ccgrep import secrets
from ccgrep.colors import drop_colors
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, AnyStr

# C0 but TAB and LF, DEL, C1, line and paragraph separators, soft hyphen, bidi controls,
# zero-width and invisible characters, variation-selector supplement, tags, interlinear
# annotation, joiners of hieroglyphs, noncharacters, lone surrogates. _is_kept decides about ZWJ
# and ZWNJ.
_UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff"
    + "".join(chr(plane << 16 | last) for plane in range(1, 17) for last in (0xFFFE, 0xFFFF))
    + "]"
)
_NARROW_NBSP = "\u202f"  # a space in French and Mongolian text: kept
_JOINERS = "\u200c\u200d"  # inside emoji and in Indic and Persian words: kept there
# Arabic and Indic, Burmese, Khmer and Mongolian, Arabic presentation forms
_JOINING = (("\u0600", "\u0dff"), ("\u1000", "\u109f"), ("\u1780", "\u18af"), ("\ufb50", "\ufdff"))
_PRESENTATION = "\ufe0e\ufe0f"
_MARKS = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACK = f"({_MARKS}{{30}})({_MARKS}+)"
"""More marks on one letter than any language has. They would cover other lines."""
_PLAIN = (
    ("\x80", "\u02ff"),  # Latin
    ("\u0370", "\u0482"),  # Greek, Cyrillic
    ("\u2010", "\u2027"),  # dashes, quotation marks, the ellipsis
    ("\u2030", "\u205e"),
    ("\u20a0", "\u20cf"),  # currencies
    ("\u2100", "\u2bff"),  # arrows, lines, symbols
    ("\u3001", "\u3029"),
    ("\u3041", "\u3096"),  # kana
    ("\u30a0", "\u30ff"),
    ("\u4e00", "\u9fff"),  # Chinese
    ("\uac00", "\ud7a3"),  # Korean
)
"""Ranges whose printable characters are harmless and join no others."""


def _is_kept(match: re.Match[str]) -> bool:
    """Return whether an unsafe character is harmless where it is."""
    char, text, at = match.group(), match.string, match.start()
    if char in _JOINERS:
        return _joins(text, at)
    if char in _PRESENTATION:
        # It shows a symbol, or a digit in a keycap, as emoji or as text.
        before = text[at - 1 : at]
        is_symbol = before >= "\u2190" and _category(before) in ("So", "Sm", "Sk")
        return at > 0 and (is_symbol or before in "0123456789#*")
    return char == _NARROW_NBSP


def _joins(text: str, at: int) -> bool:
    """Return whether the joiner at `at` is inside an emoji or a word of a script that uses it."""
    if at == 0 or at + 1 >= len(text):
        return False
    before, after = text[at - 1], text[at + 1]
    if before in _PRESENTATION and at > 1:
        before = text[at - 2]
    if all(_category(char) in ("So", "Sk") for char in (before, after)):
        return True
    return all(any(low <= char <= high for low, high in _JOINING) for char in (before, after))


def _category(char: str) -> str:
    from unicodedata import category  # noqa: PLC0415 - not for plain text

    return category(char)


_is_redacting = True


def set_redaction(is_on: bool) -> None:
    """Switch redaction on or off for this process. The entry point calls it once."""
    global _is_redacting  # noqa: PLW0603 - one switch, so no output can forget to check it
    _is_redacting = is_on


def redact(text: str) -> str:
    """Return `text` with each secret replaced by the name of its rule."""
    return redact_spans(text, ())[0]


def redact_spans(text: str, spans: Iterable[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """Return `text` redacted, and the new `spans`. A span that cuts a secret covers all of it."""
    found = secrets.find(text) if _is_redacting else []
    if not found:
        return text, list(spans)
    from bisect import bisect_left  # noqa: PLC0415 - few texts have secrets

    parts, marks, shifts, at = [], [], [0], 0
    for secret in found:
        mark = f"[redacted:{secret.rule}]"
        marks.append(mark)
        parts += [text[at : secret.start], mark]
        at = secret.end
        shifts.append(shifts[-1] + len(mark) - (secret.end - secret.start))
    starts = [secret.start for secret in found]

    def shift(position: int, is_end: bool) -> int:
        number = bisect_left(starts, position)
        if number == 0 or position >= found[number - 1].end:
            return position + shifts[number]
        start = starts[number - 1] + shifts[number - 1]
        return start + len(marks[number - 1]) if is_end else start

    moved = [(shift(start, False), shift(end, True)) for start, end in spans]
    return "".join((*parts, text[at:])), moved


def redact_values(value: Any) -> Any:
    """Return a JSON value with all strings redacted. Names of fields help to find secrets."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(name)): _redact_field(name, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_values(item) for item in value]
    return value


def _redact_field(name: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return redact_values(value)
    prefix = f"{name}: "
    redacted = redact(prefix + value)
    return redacted.removeprefix(prefix) if redacted.startswith(prefix) else redact(value)


def escape(text: str) -> str:
    """Return `text` redacted, with control and invisible characters spelled out.

    Newlines and tabs stay: this is for text of several lines.
    """
    return make_visible(redact(drop_colors(text)))


def make_visible(text: str) -> str:
    """Return `text`, which is redacted already, with unsafe characters spelled out."""
    if text.isprintable() and (text.isascii() or _is_plain(text)):
        return text
    return _spell_unsafe(drop_colors(text), _spell)


def _is_plain(text: str) -> bool:
    """Return whether the characters beyond ASCII are harmless if they are printable."""
    beyond = [char for char in set(text) if char > "\x7f"]
    return all(any(low <= char <= high for low, high in _PLAIN) for char in beyond)


def clean(text: str) -> str:
    """Return `text` redacted and without unsafe characters, for agents.

    Hidden characters are removed rather than spelled out: an agent would read them as text.
    """
    if text.isascii() and text.isprintable():
        return redact(text)
    plain = compile_pattern(_UNSAFE).sub(
        lambda match: match.group() if _is_kept(match) else "", drop_colors(text)
    )
    return redact(compile_pattern(_STACK).sub(lambda match: match[1], plain))


def _spell_unsafe(text: str, spell: Callable[[str], str]) -> str:
    """Spell out unsafe characters, and the marks of a letter from the 31st on."""
    stack, unsafe = compile_pattern(_STACK), compile_pattern(_UNSAFE)
    text = stack.sub(lambda match: match[1] + "".join(map(spell, match[2])), text)
    return unsafe.sub(lambda match: match[0] if _is_kept(match) else spell(match[0]), text)


def _spell(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def one_line(text: str) -> str:
    """Return `text` escaped and as one line: runs of white space become one space."""
    return make_visible(" ".join(redact(drop_colors(text)).split()))


def to_nfc(path: str) -> str:
    """Return a path with composed characters. macOS may list the same path decomposed."""
    if path.isascii():
        return path
    from unicodedata import normalize  # noqa: PLC0415 - not for plain text

    return normalize("NFC", path)


def clip(text: str, width: int) -> str:
    """Return at most `width` columns of `text`, with an ellipsis if it was truncated."""
    if _is_narrow(text):
        return text if len(text) <= width else text[: width - 1] + "…"
    if columns(text) <= width:
        return text
    kept: list[str] = []
    used = 0
    for char in text:
        used += _char_columns(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip(_JOINERS) + "…"


def columns(text: str) -> int:
    """Return how many terminal columns `text` occupies."""
    return len(text) if _is_narrow(text) else sum(map(_char_columns, text))


def _is_narrow(text: str) -> bool:
    """Return whether each character occupies one column of its own."""
    if text.isascii() or max(text) < "\u0300":
        return True
    return all(char < "\u0300" or "\u2010" <= char <= "\u2027" for char in set(text))


def _char_columns(char: str) -> int:
    if char < "\u0300":
        return 1
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - not for plain text

    if combining(char) or char in _JOINERS or "\ufe00" <= char <= "\ufe0f":
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def json_escape(document: str) -> str:
    """Return a JSON document with unsafe characters as `\\u` escapes."""
    return _spell_unsafe(document, _spell_json)


def _spell_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def find_all(part: AnyStr, text: AnyStr) -> Iterator[tuple[int, int]]:
    """Yield where `part` occurs in `text`, without overlaps."""
    end = 0
    while (start := text.find(part, end)) >= 0:
        end = start + len(part)
        yield start, end


def folder_name(directory: str) -> str:
    """Return the name of Claude Code's project folder for a directory; it cannot be decoded."""
    return compile_pattern(r"[^A-Za-z0-9]").sub("-", directory)


def shared_length(a: str, b: str) -> int:
    """Return how many characters the beginnings of two texts share."""
    pairs = zip(a, b, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
