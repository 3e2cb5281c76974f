"""Define the surfaces of a turn: its texts that are embedded, and what `--surface` chooses. Pure.

    prompt   the user's prompt
    answer   the agent's last message: "here is what I did"
    full     all messages of the agent
    title    the session's title, at its first turn

A key identifies a text: 63 bits of its hash. Documents hold the keys of their surfaces, vectors the
key of their text. So a text that occurs in many turns is embedded once. The vectors of a text that
no turn has any more are never found.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccgrep.model import Turn

SURFACES = ("prompt", "answer", "full", "title")
KEY_FIELDS = tuple(f"{surface}_key" for surface in SURFACES)
NO_TEXT = 0


def surface_text(turn: Turn, surface: str, title: str = "") -> str:
    """Return the text of a surface, empty if the turn has none."""
    if surface in ("prompt", "title"):
        return (turn.prompt if surface == "prompt" else title).strip()
    texts = _drop_blank(turn.assistant_texts())
    return (texts[-1] if surface == "answer" else "\n".join(texts)).strip() if texts else ""


def surface_keys(prompt: str, messages: list[str]) -> tuple[int, int, int]:
    """Return the keys of the surfaces prompt, answer and full. Most turns have one message."""
    texts = _drop_blank(messages)
    answer = text_key(texts[-1]) if texts else NO_TEXT
    return text_key(prompt), answer, text_key("\n".join(texts)) if texts[1:] else answer


def _drop_blank(texts: list[str]) -> list[str]:
    return [text for text in texts if text.strip()]


def text_key(text: str) -> int:
    """Return the key of a text, 0 if it is blank."""
    text = text.strip()
    if not text:
        return NO_TEXT
    from ccgrep.hashing import blake2b  # noqa: PLC0415 - not needed by a plain search

    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 or 1
