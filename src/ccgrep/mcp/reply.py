"""What leaves the server: JSON of a bounded size, in which transcript text is only ever a string.

Transcripts are untrusted, and an agent reads what is said here. So every string is cleaned of
characters that hide or act, and what does not fit is cut and named by a cursor, an opaque text
that the same tool takes to go on.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from ccgrep.text import clean

MAX_CHARS = 32_000
"""About 10,000 tokens, from where on Claude Code warns of a large reply."""
MAX_FIELD_CHARS = 1000
_ENVELOPE_CHARS = 8 * MAX_FIELD_CHARS
"""Left for what stands around the items of a reply."""
ROOM = MAX_CHARS - _ENVELOPE_CHARS
LEAST_ROOM = 4 * MAX_FIELD_CHARS
"""With less, the next item waits for the next reply; one tool call always fits into this."""
TURN_PARTS = ("user_text", "assistant_text", "tools_used")

T = TypeVar("T", str, list[Any])


class Page(NamedTuple):
    """What fits into a reply, and where the next one goes on; None: that was all."""

    items: list[Any]
    next: int | None


def encoded(fields: dict[str, Any]) -> str:
    return msgspec.json.encode(fields).decode()


def size(value: Any) -> int:
    return len(msgspec.json.encode(value).decode())


def field(value: Any) -> Any:
    """A value of a transcript as a field: a number, or text of a bounded length."""
    if value is None or isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = clean(text)
    return text if len(text) <= MAX_FIELD_CHARS else clean(text[: MAX_FIELD_CHARS - 1]) + "…"


def page(items: Sequence[dict[str, Any]], start: int, total: int) -> Page:
    """As many of the items as fit; `start` is the place of the first among `total`."""
    kept = _fitting(list(items), ROOM)
    end = start + len(kept)
    return Page(kept, end if end < total else None)


def part_of_turn(turn: dict[str, Any], start: int, room: int) -> tuple[dict[str, Any], int | None]:
    """A turn from `start` on as far as there is room, and where it goes on.

    Places are counted through `TURN_PARTS`: characters of the texts, then calls.
    """
    made = dict(turn)
    base = 0
    for position, name in enumerate(TURN_PARTS):
        whole = turn[name]
        skip = min(max(start - base, 0), len(whole))
        part = _fitting(whole[skip:], room)
        made[name] = clean(part) if isinstance(part, str) else part
        if skip + len(part) < len(whole):
            made |= {later: type(turn[later])() for later in TURN_PARTS[position + 1 :]}
            return made, base + skip + len(part)
        room -= size(part)
        base += len(whole)
    return made, None


def _fitting(whole: T, room: int) -> T:
    """The longest beginning that takes no more than `room` characters as JSON."""
    low, high = 0, min(len(whole), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(whole[:middle]) <= room else (low, middle - 1)
    return whole[:low]
