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
_TURN_TEXTS = ("user_text", "assistant_text", "thinking_text")
_CALL_TEXTS = ("input", "output")
_CALL_NAMES_CHARS = 30  # the names of both texts, and punctuation

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

    A position counts the characters of the texts, then each tool call as one and the characters
    of its input and output. A call that was cut begins the next part again, with the rest.
    """
    fitted = {**turn, **{name: "" for name in _TURN_TEXTS if name in turn}, "tools_used": []}
    pages = _Pages(start, room)
    for name in _TURN_TEXTS:
        if name in turn:
            fitted[name] = pages.take_text(turn[name])
    for call in turn["tools_used"]:
        texts = {name: call[name] for name in _CALL_TEXTS if name in call}
        summary = {name: value for name, value in call.items() if name not in texts}
        if not pages.begin_call(summary, sum(map(len, texts.values()))):
            continue
        fitted["tools_used"].append(
            summary | {name: pages.take_text(text) for name, text in texts.items()}
        )
    return fitted, pages.next


class _Pages:
    """Cuts a sequence of texts: skips what earlier replies had, and takes what fits into this."""

    def __init__(self, start: int, room: int) -> None:
        self._start = start
        self._room = room
        self._at = 0
        self.next: int | None = None  # where the next reply starts

    def take_text(self, text: str) -> str:
        skip = min(max(self._start - self._at, 0), len(text))
        part = "" if self.next is not None else _longest_prefix(text[skip:], self._room)
        if self.next is None and skip + len(part) < len(text):
            self.next = self._at + skip + len(part)
        self._at += len(text)
        self._room -= encoded_size(part)
        return clean(part)

    def begin_call(self, summary: dict[str, Any], text_chars: int) -> bool:
        """Return whether a call belongs into this reply, at least with a part of its texts."""
        first, self._at = self._at, self._at + 1
        size = encoded_size(summary) + _CALL_NAMES_CHARS
        if self.next is None and self._at + text_chars > self._start:
            if size <= self._room:
                self._room -= size
                return True
            self.next = max(first, self._start)
        self._at += text_chars
        return False


def _longest_prefix(whole: T, room: int) -> T:
    """Return the longest prefix that takes at most `room` characters as JSON."""
    low, high = 0, min(len(whole), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if encoded_size(whole[:middle]) <= room else (low, middle - 1)
    return whole[:low]
