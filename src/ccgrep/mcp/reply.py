"""Encodes replies: JSON of bounded size, in which transcript text occurs only in strings.

Transcripts are untrusted and an agent reads the reply. So strings lose all invisible and control
characters. Whatever does not fit is cut; a cursor, opaque to the agent, continues the reply.
"""

from typing import Any, TypeVar

import msgspec

from ccgrep.text import clean

MAX_CHARS = 32_000  # about 10,000 tokens: Claude Code warns of larger replies
MAX_FIELD_CHARS = 1000
_ENVELOPE_CHARS = 8 * MAX_FIELD_CHARS  # for the fields around the items
ITEM_CHARS = MAX_CHARS - _ENVELOPE_CHARS
MIN_TURN_CHARS = 4 * MAX_FIELD_CHARS  # any summary of one tool call fits
_TURN_PARTS = ("user_text", "assistant_text", "tools_used")

T = TypeVar("T", str, list[Any])


def encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def encoded_size(value: Any) -> int:
    return len(encode(value))


def clean_field(value: Any, limit: int = MAX_FIELD_CHARS) -> Any:
    """Return a value from a transcript as a number, or as clean text of bounded length."""
    if value is None or isinstance(value, bool | int):
        return value
    text = clean(value if isinstance(value, str) else encode(value))
    return text if len(text) <= limit else clean(text[: limit - 1]) + "…"


def fit_items(items: list[Any], start: int, total: int) -> tuple[list[Any], int | None]:
    """Return the items that fit, and the position of the next one, if any.

    `start` is the position of the first item among `total`.
    """
    kept = _longest_prefix(items, ITEM_CHARS)
    end = start + len(kept)
    return kept, end if end < total else None


def fit_turn(turn: dict[str, Any], start: int, room: int) -> tuple[dict[str, Any], int | None]:
    """Return the part of a turn from `start` that fits, and where the next part starts, if any.

    A position counts the characters of both texts, then the tool calls.
    """
    fitted = dict(turn)
    base = 0
    for index, name in enumerate(_TURN_PARTS):
        whole = turn[name]
        skip = min(max(start - base, 0), len(whole))
        part = _longest_prefix(whole[skip:], room)
        fitted[name] = clean(part) if isinstance(part, str) else part
        if skip + len(part) < len(whole):
            fitted |= {later: type(turn[later])() for later in _TURN_PARTS[index + 1 :]}
            return fitted, base + skip + len(part)
        room -= encoded_size(part)
        base += len(whole)
    return fitted, None


def _longest_prefix(whole: T, room: int) -> T:
    """Return the longest prefix that takes at most `room` characters as JSON."""
    low, high = 0, min(len(whole), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if encoded_size(whole[:middle]) <= room else (low, middle - 1)
    return whole[:low]
