"""Finds past turns that are relevant to a prompt, or none.

A search always has a best hit. Recall must know whether that hit is worth an agent's attention:

    relevance = BM25 score × share of the prompt's words that the turn has, weighted by rarity

The share keeps a long prompt from matching by its many common words. The score keeps a short one
from matching by a single word.

A template is sent again and again, by a tool or by habit, and its earlier turns tell nothing about
this one. A prompt is a template if several past turns begin like it. It is also one if it is long
and a past prompt has almost all of its words. `bench/recall.py` measures how often something is
quoted.
"""

from __future__ import annotations

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.expand import expand
from ccgrep.fulltext.reader import TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.filters import filter_clauses
from ccgrep.search.query import content_units, parse
from ccgrep.search.request import Place
from ccgrep.text import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccgrep.fulltext.reader import Hit, StoredTurn
    from ccgrep.search.request import Filters

THRESHOLD = 23.0
"""Of the prompts of other people's projects, about 2 % pass it: see docs/recall.md."""
_MAX_PROMPT_CHARS = 1500
_MAX_WORDS = 150
_CANDIDATES = 5
_MAX_ALIKE = 1
"""How many of the candidates may begin like the prompt."""
_OPENING_CHARS = 40
_LONG_WORDS = 60
_TEMPLATE_SHARE = 0.7


class RatedTurn(NamedTuple):
    """A past turn with its relevance for a prompt."""

    place: Place
    started: int
    relevance: float
    stored: StoredTurn


class RelevantTurn(NamedTuple):
    """What is quoted of a past turn: its prompt, and its answer from the most relevant line on."""

    place: Place
    started: int
    prompt: str
    answer: str


def find_relevant(
    reader: TextReader, prompt: str, filters: Filters, limit: int
) -> list[RelevantTurn]:
    """Return past turns that are relevant to a prompt, the most relevant first."""
    rarity = weigh_words(reader, prompt)
    rated = rate_turns(reader, rarity, filters)
    if is_template(reader, prompt, rated):
        return []
    return [
        RelevantTurn(one.place, one.started, one.stored.prompt, _quote(reader, one.stored, rarity))
        for one in rated[:limit]
        if one.relevance >= THRESHOLD
    ]


def is_template(reader: TextReader, prompt: str, rated: Iterable[RatedTurn]) -> bool:
    """Return whether the best turns show that the prompt is sent again and again."""
    opening, words = _opening(prompt), _words(reader, prompt)
    past = [one.stored.prompt for one in rated]
    if sum(_opening(one) == opening for one in past) > _MAX_ALIKE:
        return True
    least = _TEMPLATE_SHARE * len(words)
    return len(words) >= _LONG_WORDS and any(len(words & _words(reader, p)) >= least for p in past)


def _words(reader: TextReader, prompt: str) -> set[str]:
    return set(reader.stems(expand(prompt[:_MAX_PROMPT_CHARS])))


def _opening(prompt: str) -> str:
    return " ".join(prompt[: 4 * _OPENING_CHARS].split())[:_OPENING_CHARS]


def rate_turns(reader: TextReader, rarity: dict[str, float], filters: Filters) -> list[RatedTurn]:
    """Return the turns that have the most of some words, by relevance."""
    if len(rarity) < 2:
        return []
    words = reader.any_of([reader.term("said", word) for word in rarity])
    superseded = reader.term("kind", KINDS.index("superseded"))
    query = filter_clauses(reader, filters).apply(words, never=[superseded])
    hits = {hit.object_key: hit for hit in reversed(reader.search(query, _CANDIDATES))}
    rated = [one for hit in hits.values() if (one := _rate(reader, hit, rarity)) is not None]
    return sorted(rated, key=lambda turn: (-turn.relevance, -turn.started, turn.place))


def weigh_words(reader: TextReader, prompt: str) -> dict[str, float]:
    """Return the words of a prompt without stop words, with their rarity."""
    units = content_units(parse(_shorten(prompt), reader.stems, reader.tokens))
    words = dict.fromkeys(word for unit in units for word in (*unit.stems, *unit.grams))
    return {word: reader.rarity("said", word) for word in list(words)[:_MAX_WORDS]}


def _shorten(prompt: str) -> str:
    """Return the first words of a prompt, as many as `parse` accepts."""
    return " ".join(prompt[:_MAX_PROMPT_CHARS].replace('"', " ").split()[:_MAX_WORDS])


def _rate(reader: TextReader, hit: Hit, rarity: dict[str, float]) -> RatedTurn | None:
    place, stored = reader.stored_at(hit.address)
    if stored is None or not stored.answer.strip():
        return None
    said = set(reader.stems(expand(f"{stored.prompt}\n{stored.answer}")))
    share = sum(weight for word, weight in rarity.items() if word in said) / sum(rarity.values())
    return RatedTurn(Place(*place), hit.started, hit.score * share, stored)


def _quote(reader: TextReader, stored: StoredTurn, rarity: dict[str, float]) -> str:
    """Return the answer from the line on that has the rarest words of the prompt.

    It is redacted first: the rest of a secret would not be recognized.
    """
    lines = [line for line in redact(stored.answer).splitlines() if line.strip()]

    def weigh(number: int) -> tuple[float, int]:
        words = set(reader.stems(expand(lines[number])))
        return sum(weight for word, weight in rarity.items() if word in words), -number

    return "\n".join(lines[max(range(len(lines)), key=weigh, default=0) :])
