"""Which secrets the store holds, and where: by rule and fingerprint, never by value."""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ccgrep import refs, secrets
from ccgrep.config import Config
from ccgrep.fulltext.document import field_text, turn_text
from ccgrep.kinds import TextKind
from ccgrep.model import Turn
from ccgrep.search.request import Filters, Place
from ccgrep.search.store_scan import StoreScan
from ccgrep.store.lifecycle import open_store

_KINDS: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")
_DIGITS = 12
_FOLDED = re.compile(r"\\[nr]|\s")


class Found(NamedTuple):
    """A secret at a place, and in which kinds of its text."""

    place: Place
    short_id: str
    rule: str
    fingerprint: str
    kinds: tuple[str, ...]


def find_secrets(
    config: Config, filters: Filters, on_turn: Callable[[int, int], None] = lambda *_: None
) -> Iterator[Found]:
    """Every secret of the turns that pass, turn by turn; `on_turn` is told how many are done."""
    store = open_store(config.store_dir)
    scan = StoreScan(store, filters)
    rows = {row.session.id: row for row in store.rows()}
    short = refs.short_ids(rows)
    total = sum(row.session.turns for row in rows.values())
    for number, (_, place, turn) in enumerate(scan.turns()):
        on_turn(number, total)
        title = rows[place.session].session.title if place.turn == 0 else ""
        for (rule, fingerprint), kinds in _of_turn(turn, title).items():
            yield Found(place, short[place.session], rule, fingerprint, tuple(kinds))


def _of_turn(turn: Turn, title: str) -> dict[tuple[str, str], list[str]]:
    """Rule and fingerprint of each secret of a turn, with the kinds of text that have it."""
    texts: list[tuple[str, str]] = [(kind, turn_text(turn, kind)) for kind in _KINDS]
    texts += [("tool", text) for call in turn.calls() for text in _named([call.input])]
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


def _named(value: Any) -> Iterator[str]:
    """Every text of a call's input with the name of its field: some tell what it is."""
    pairs = value.items() if isinstance(value, dict) else ()
    yield from (f"{name}: {one}" for name, one in pairs if isinstance(one, str))
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from _named(one)


def fingerprint(secret: str) -> str:
    """The same for the same secret, wherever it stands; it does not lead back to it.

    The beginning of its SHA-256, so that who has a key can tell which one it is. Line ends are
    left out: a key of several lines stands in JSON otherwise than in a file.
    """
    folded = _FOLDED.sub("", secret)
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
