"""Finds secrets in the store; reports rule and fingerprint, never the value."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ccgrep import refs, secrets
from ccgrep.config import Config
from ccgrep.fulltext.document import field_text, turn_text
from ccgrep.kinds import TextKind
from ccgrep.model import Turn
from ccgrep.search.request import Filters, Place
from ccgrep.search.store_scan import StoreScan
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store.lifecycle import open_store

_KINDS: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")
_FINGERPRINT_DIGITS = 12
_LINE_ENDS_AND_SPACE = re.compile(r"\\[nr]|\s")


class FoundSecret(NamedTuple):
    """A secret, its place, and the kinds of text that contain it."""

    place: Place
    short_id: str
    rule: str
    fingerprint: str
    kinds: tuple[str, ...]


def find_secrets(
    config: Config, filters: Filters, on_step: OnStep = ignore_steps
) -> Iterator[FoundSecret]:
    """Yield the secrets of all turns that pass the filters."""
    store = open_store(config.store_dir)
    scan = StoreScan(store, filters)
    rows = {row.session.id: row for row in store.rows()}
    short = refs.short_ids(rows)
    total = sum(row.session.turns for row in rows.values())
    for _, place, turn in count_steps(scan.turns(), "turns scanned", total, on_step):
        title = rows[place.session].session.title if place.turn == 0 else ""
        for (rule, fingerprint), kinds in _find_in_turn(turn, title).items():
            yield FoundSecret(place, short[place.session], rule, fingerprint, tuple(kinds))


def _find_in_turn(turn: Turn, title: str) -> dict[tuple[str, str], list[str]]:
    """Return the kinds of text that contain each secret, by rule and fingerprint."""
    texts: list[tuple[str, str]] = [(kind, turn_text(turn, kind)) for kind in _KINDS]
    texts += [("tool", text) for call in turn.calls() for text in _labelled_texts([call.input])]
    texts.append(("note", field_text(turn, "note")))
    if not turn.prompt.startswith(title):
        texts.append(("title", title))
    found: dict[tuple[str, str], list[str]] = {}
    for kind, text in texts:
        for secret in secrets.find(text):
            key = (secret.rule, fingerprint(text[secret.start : secret.end]))
            kinds = found.setdefault(key, [])
            if kind not in kinds:
                kinds.append(kind)
    return found


def _labelled_texts(value: Any) -> Iterator[str]:
    """Yield every text of a call's input as `name: text`: some rules need the field's name."""
    pairs = value.items() if isinstance(value, dict) else ()
    yield from (f"{name}: {text}" for name, text in pairs if isinstance(text, str))
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from _labelled_texts(child)


def fingerprint(secret: str) -> str:
    """Return the start of the SHA-256 of a secret, so that its owner can identify it.

    White space does not count: a key of several lines has other line ends in JSON than in a file.
    """
    folded = _LINE_ENDS_AND_SPACE.sub("", secret)
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:_FINGERPRINT_DIGITS]
