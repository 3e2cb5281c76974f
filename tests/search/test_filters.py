"""Filters: every hit passes them, and every turn that passes them and matches is a hit."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.errors import NotFoundError
from ccgrep.kinds import Mode, TextKind
from ccgrep.ops.search import search
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import SearchOptions
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.search.test_exact_search import KINDS, SAID, Corpus, Said, make_corpus, places


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(Home(tmp_path_factory.mktemp("filters") / "home"))


def some(*values: Any) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(values)


times = st.none() | st.tuples(st.integers(0, 300), st.integers(-1, 1))
chosen_filters = st.fixed_dictionaries(
    {
        "project": some("shop", "SHOP/", "/src", "x", "", "nowhere"),
        "here": some("/src/shop", "/src/shop/deep", "/src", "/", "/other/x/y", "/no/where"),
        "source": some("claude_code", "codex"),
        "branch": some("main", "fix/login", "none"),
        "model": some("OPUS", "claude", "gpt", "none"),
        "tool": some("bash", "READ", "any", "none"),
        "sessions": st.none() | st.lists(st.integers(0, 30), min_size=1, max_size=3),
        "only_ids": st.none() | st.frozensets(st.integers(0, 30)),
        "except_ids": st.frozensets(st.integers(0, 30), max_size=3),
        "subagents": st.sampled_from(["include", "include", "only", "exclude"]),
        "max_sessions": st.sampled_from([0, 0, 0, 1, 3, 8]),
        "since": times,
        "until": times,
    }
)


def started(turn: Said) -> int:
    return round(datetime.fromisoformat(turn.record["timestamp"]).timestamp() * 1000)


def is_at(turn: Said, filters: Filters) -> bool:
    """Whether a turn's project is the one that is meant."""
    path = turn.record["cwd"]
    pair = [f"{one.rstrip('/')}/" for one in (path, filters.here or "/")]
    is_here = path and (pair[0].startswith(pair[1]) or pair[1].startswith(pair[0]))
    return (filters.here is None or bool(is_here)) and (
        filters.project or ""
    ).lower() in path.lower()


def passes(turn: Said, filters: Filters) -> bool:
    record = turn.record
    used = turn.tools | ({"any"} if turn.tools else set())
    return (
        filters.source in (None, record["source"])
        and filters.branch in (None, record["gitBranch"])
        and (not filters.model or any(filters.model.lower() in m for m in turn.models))
        and (filters.tool is None or filters.tool.lower() in used)
        and (filters.sessions is None or turn.place.session in filters.sessions)
        and (filters.only_ids is None or turn.place.session in filters.only_ids)
        and turn.place.session not in filters.except_ids
        and (filters.subagents == "include" or turn.is_subagent == (filters.subagents == "only"))
        and (filters.since is None or started(turn) >= filters.since)
        and (filters.until is None or started(turn) <= filters.until)
        and is_at(turn, filters)
    )


def meant(corpus: Corpus, chosen: dict[str, Any]) -> Filters:
    """Filters with the ids and times of turns that are there."""
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


@settings(max_examples=scale.of(60, 150), deadline=None)
@given(chosen_filters, st.sets(st.sampled_from(KINDS)), st.sampled_from(["words", "literal"]))
def test_hits_are_the_turns_that_match_and_pass_the_filters(
    corpus: Corpus, chosen: dict[str, Any], kinds: set[TextKind], mode: Mode
) -> None:
    filters = meant(corpus, chosen)
    request = Request(("plum",), mode, filters, types=tuple(sorted(kinds)), limit=0)
    searched = kinds or (KINDS if mode == "words" else SAID)
    try:
        answer = corpus.indexed(request)
    except NotFoundError:
        for part in (filters._replace(project=None), filters._replace(here=None)):
            if not any(is_at(turn, part) for turn in corpus.turns):
                break
        else:
            raise
        with pytest.raises(NotFoundError):
            corpus.scanned(request)
        return
    scanned = corpus.scanned(request)
    if mode == "literal":
        assert answer == scanned
    assert places(answer) == places(scanned)
    expected = {
        turn.place
        for turn in corpus.turns
        if passes(turn, filters)
        and any("plum" in line for kind in searched for line in turn.lines[kind])
    }
    if filters.max_sessions:
        assert places(answer) <= expected
        assert len({place.session for place in places(answer)}) <= filters.max_sessions
    else:
        assert places(answer) == expected


def test_which_sessions_are_the_most_recent_does_not_depend_on_the_order_of_arrival(
    tmp_path: Path,
) -> None:
    """Forks share turns and their times: then something else has to decide."""
    found = []
    for name, is_stepwise in (("steps", True), ("once", False)):
        home = Home(tmp_path / name)
        first = home.claude(1)
        first.turn("plum", "yes")
        forks = [first.fork(first.path.parent, 2, seed) for seed in range(50, 56)]
        for number, file in enumerate([first, *forks]):
            file.turn(f"another {number}", "no")
            file.write()
            if is_stepwise:
                home.index()
        home.index()
        until = home.manifest(first.id).entries[0].started
        for most in (1, 2, 3):
            request = Request(("plum",), "literal", Filters(until=until, max_sessions=most))
            for is_indexed in (True, False):
                how = SearchOptions(use_index=is_indexed)
                hits = search(home.config, request, how).answer.hits
                found.append((most, [(hit.place, hit.also_in) for hit in hits]))
    assert len({repr(one) for one in found}) == 3
