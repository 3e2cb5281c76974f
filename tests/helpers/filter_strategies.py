"""Hypothesis strategies for filters on a search corpus."""

from typing import Any

from hypothesis import strategies as st

from ccgrep.search.request import Filters
from tests.helpers.search_corpus import Corpus, started


def some(*values: Any) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(values)


def several(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    """Return no filter, one value, or two alternatives."""
    return st.lists(st.sampled_from(values), max_size=2).map(tuple)


times = st.none() | st.tuples(st.integers(0, 300), st.integers(-1, 1))
filter_fields = st.fixed_dictionaries(
    {
        "projects": several("shop", "SHOP/", "/src", "x", "", "nowhere"),
        "here": some("/src/shop", "/src/shop/deep", "/src", "/", "/other/x/y", "/no/where"),
        "sources": several("claude_code", "codex"),
        "branches": several("main", "fix/login", "none"),
        "models": several("OPUS", "claude", "gpt", "none"),
        "tools": several("bash", "READ", "any", "none"),
        "sessions": st.none() | st.lists(st.integers(0, 30), min_size=1, max_size=3),
        "only_ids": st.none() | st.frozensets(st.integers(0, 30)),
        "except_ids": st.frozensets(st.integers(0, 30), max_size=3),
        "subagents": st.sampled_from(["include", "include", "only", "exclude"]),
        "max_sessions": st.sampled_from([0, 0, 0, 1, 3, 8]),
        "since": times,
        "until": times,
    }
)


def make_filters(corpus: Corpus, chosen: dict[str, Any]) -> Filters:
    """Return filters with the ids and times of turns in the corpus."""
    for name in ("since", "until"):
        if chosen[name] is not None:
            at, delta = chosen[name]
            chosen[name] = started(corpus.turns[at % len(corpus.turns)]) + delta
    if chosen["sessions"] is not None:
        chosen["sessions"] = tuple(corpus.ids[n % len(corpus.ids)] for n in chosen["sessions"])
    for name in ("only_ids", "except_ids"):
        if chosen[name] is not None:
            chosen[name] = frozenset(corpus.ids[n % len(corpus.ids)] for n in chosen[name])
    return Filters(**chosen)
