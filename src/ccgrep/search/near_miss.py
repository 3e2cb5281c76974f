"""Finds what a search without hits nearly found: in other texts, without filters, with fewer words.

Runs only after a search without hits. It widens the request at most twice and stops at the first
hit. `output/near_miss_text.py` puts the result into words.
"""

from __future__ import annotations

import time

from ccgrep.errors import CcgrepError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.paths import last_name
from ccgrep.search.exact_search import DEFAULT_TYPES
from ccgrep.search.request import SEMANTIC_MODES, Answer, Filters, Request
from ccgrep.search.searcher import Searcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    from ccgrep.kinds import TextKind
    from ccgrep.search.request import Embedded
    from ccgrep.search.snippet import MatchFinder

    Change = Literal[
        "", "kind", "filters", "ignore_case", "quotes", "some_words", "one_word", "words"
    ]
    """What to change in the request: search another kind of text, drop the filters, and so on."""

    Step = Callable[[Searcher, Request, "NearMiss"], "NearMiss | None"]

_MAX_COUNTED = 50
_MAX_SEARCHES = 2
_BUDGET_S = 0.5
_ALL_KINDS: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")
_SCOPE = ("only_ids", "except_ids")
"""Filters that ccgrep sets by itself. No advice can lift them."""


class NearMiss(NamedTuple):
    """What was searched without a hit, and the change that would find something.

    `names` are the kind of text, the projects or the word that the change is about.
    """

    searched: int | None  # turns that pass the filters; None if only a scan could count them
    filters: tuple[str, ...] = ()  # the fields of `Filters` that are set
    change: Change = ""
    turns: int = 0  # that match after the change
    is_more: bool = False  # whether there may be more than `turns`
    names: tuple[str, ...] = ()
    outside_window: int = 0  # turns without embedding because of their age


def find_near_miss(
    searcher: Searcher, request: Request, answer: Answer, embedded: Embedded | None = None
) -> NearMiss:
    """Return what a request that was answered without hits would have found if it were wider."""
    if answer.tier == "exact" and request.mode == "words":
        request = request._replace(mode="literal")  # The query has no words.
    searched = searcher.count_turns(request.filters)
    names = tuple(_set_filters(request.filters))
    miss = NearMiss(searched, names, outside_window=embedded.outside if embedded else 0)
    if request.invert:
        return miss
    wide = request._replace(limit=_MAX_COUNTED, per_session=0, needs_total=True)
    if wide.deadline is not None:
        wide = wide._replace(deadline=time.process_time() + _BUDGET_S)
    steps = _SEMANTIC_STEPS if request.mode in SEMANTIC_MODES else _STEPS[request.mode]
    try:
        return _try_steps(steps, searcher.without_side_effects(), wide, miss)
    except CcgrepError:
        return miss  # The user did not ask for more, so what cannot be read is not an error.


def _try_steps(
    steps: Sequence[Step], searcher: Searcher, request: Request, miss: NearMiss
) -> NearMiss:
    """Return the result of the first step that finds something. A step without use is None."""
    tried = 0
    for step in steps:
        found = step(searcher, request, miss)
        if found is not None and found.turns:
            return found
        tried += found is not None
        if tried == _MAX_SEARCHES:
            break
    return miss


def _set_filters(filters: Filters) -> Iterator[str]:
    for name, value, default in zip(Filters._fields, filters, Filters(), strict=True):
        if value != default and name not in _SCOPE:
            yield name


def _in_other_kinds(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    """Search the kinds of text that were not searched; count the hits of the most frequent one."""
    searched = request.types or (() if request.mode == "words" else DEFAULT_TYPES)
    others = tuple(kind for kind in _ALL_KINDS if kind not in searched) if searched else ()
    if not others:
        return None
    answer, finder = searcher.run(request._replace(types=others))
    counts = _count_kinds(searcher, answer, finder, others)
    if not counts:
        return miss
    kind = max(counts, key=lambda kind: counts[kind])
    return _widen(miss, "kind", answer)._replace(turns=counts[kind], names=(kind,))


def _count_kinds(
    searcher: Searcher, answer: Answer, finder: MatchFinder, kinds: tuple[TextKind, ...]
) -> dict[TextKind, int]:
    counts: dict[TextKind, int] = {}
    for hit in answer.hits:
        for kind in kinds:
            if finder(searcher.turn_text(hit.place, kind)):
                counts[kind] = counts.get(kind, 0) + 1
    return counts


def _without_filters(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    if not miss.filters:
        return None
    filters = request.filters
    scope = Filters(only_ids=filters.only_ids, except_ids=filters.except_ids)
    answer, _ = searcher.run(request._replace(filters=scope))
    projects: dict[str, None] = {}
    if {"projects", "here"} & set(miss.filters):
        stored = (searcher.stored_turn(hit.place) for hit in answer.hits)
        projects = dict.fromkeys(last_name(one.project) for one in stored if one and one.project)
    return _widen(miss, "filters", answer)._replace(names=tuple(projects))


def _ignoring_case(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    if request.ignore_case:
        return None
    answer, _ = searcher.run(request._replace(ignore_case=True))
    return _widen(miss, "ignore_case", answer)


def _without_quotes(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    patterns = tuple(pattern.replace('"', " ") for pattern in request.patterns)
    if patterns == request.patterns:
        return None
    answer, _ = searcher.run(request._replace(patterns=patterns, needs_all_words=True))
    return _widen(miss, "quotes", answer)


def _with_some_words(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    if not request.needs_all_words:
        return None
    answer, _ = searcher.run(request._replace(needs_all_words=False))
    return _widen(miss, "some_words", answer)


def _with_one_word(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    """Count the turns that have the rarest word of the query that any turn has."""
    counts = {word: count for word, count in searcher.count_words(request).items() if count}
    if not counts:
        return None
    word = min(counts, key=lambda word: counts[word])
    return miss._replace(change="one_word", turns=counts[word], names=(word,))


def _by_words(searcher: Searcher, request: Request, miss: NearMiss) -> NearMiss | None:
    if request.mode != "semantic":
        return None  # A hybrid search finds words too.
    answer, _ = searcher.run(request._replace(mode="words", surfaces=()))
    return _widen(miss, "words", answer)


def _widen(miss: NearMiss, change: Change, answer: Answer) -> NearMiss:
    is_more = answer.is_cut_short or len(answer.hits) == _MAX_COUNTED
    return miss._replace(change=change, turns=len(answer.hits), is_more=is_more)


_STEPS: dict[str, tuple[Step, ...]] = {
    "words": (
        _in_other_kinds,
        _without_filters,
        _without_quotes,
        _with_some_words,
        _with_one_word,
    ),
    "literal": (_in_other_kinds, _without_filters, _ignoring_case),
    "regex": (_in_other_kinds, _without_filters, _ignoring_case),
}
_SEMANTIC_STEPS: tuple[Step, ...] = (_without_filters, _by_words)
