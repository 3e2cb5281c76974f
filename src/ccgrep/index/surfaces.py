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

from ccgrep.named import TYPE_CHECKING

if TYPE_CHECKING:
    from ccgrep.model import Turn

SURFACES = ("prompt", "answer", "full", "title")
KEY_FIELDS = tuple(f"{surface}_key" for surface in SURFACES)
NO_TEXT = 0


def surface_text(turn: Turn, surface: str, title: str = "") -> str:
    """The text of a surface; empty if there is none."""
    match surface:
        case "prompt":
            return turn.prompt.strip()
        case "title":
            return title.strip()
    said = [text for text in turn.said() if text.strip()]
    return (said[-1] if surface == "answer" else "\n".join(said)).strip() if said else ""


def text_key(text: str) -> int:
    """A number that stands for a text; that of no text is 0."""
    if not text.strip():
        return NO_TEXT
    from hashlib import blake2b  # noqa: PLC0415 - not needed by a plain search

    digest = blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 or 1
