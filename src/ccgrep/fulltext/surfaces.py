"""What of a turn is embedded? Pure.

    prompt   what was asked
    answer   the last thing that the agent said: "here is what I did"
    full     everything that it said
    title    of the session, at its first turn

A text is known by its key, 63 bits of its hash: the text index has the keys of each turn, the
vectors those of each text that was embedded. So a text that stands in many turns is embedded
once, and what no turn has any more is never found.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccgrep.model import Turn

SURFACES = ("prompt", "answer", "full", "title")
KEY_FIELDS = tuple(f"{surface}_key" for surface in SURFACES)
NO_TEXT = 0


def surface_text(turn: Turn, surface: str, title: str = "") -> str:
    """The text of a surface; empty if there is none."""
    if surface in ("prompt", "title"):
        return (turn.prompt if surface == "prompt" else title).strip()
    texts = _texts(turn.assistant_texts())
    return (texts[-1] if surface == "answer" else "\n".join(texts)).strip() if texts else ""


def said_keys(prompt: str, said: list[str]) -> tuple[int, int, int]:
    """The keys of all surfaces of a turn but the title. Most answers are all that was said."""
    texts = _texts(said)
    answer = text_key(texts[-1]) if texts else NO_TEXT
    return text_key(prompt), answer, text_key("\n".join(texts)) if texts[1:] else answer


def _texts(said: list[str]) -> list[str]:
    return [text for text in said if text.strip()]


def text_key(text: str) -> int:
    """A number that stands for a text; that of no text is 0."""
    text = text.strip()
    if not text:
        return NO_TEXT
    from ccgrep.hashing import blake2b  # noqa: PLC0415 - not needed by a plain search

    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 or 1
