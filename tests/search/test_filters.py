"""Filters: every hit passes them, and every turn that passes them and matches is a hit."""

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
from tests.helpers.filter_strategies import filter_fields, make_filters
from tests.helpers.homes import Home
from tests.helpers.search_corpus import (
    DISCUSSION,
    KINDS,
    Corpus,
    ExpectedTurn,
    make_corpus,
    places,
    started,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(Home(tmp_path_factory.mktemp("filters") / "home"))


def passes_project(turn: ExpectedTurn, filters: Filters) -> bool:
    """Return whether a turn passes the filters on projects."""
    path = turn.record["cwd"]
    project, here = (f"{one.rstrip('/')}/" for one in (path, filters.here or "/"))
    is_here = bool(path) and (project.startswith(here) or here.startswith(project))
    is_named = any(part.lower() in path.lower() for part in filters.projects or ("",))
    return is_named and (filters.here is None or is_here)


def passes(turn: ExpectedTurn, filters: Filters) -> bool:
    record = turn.record
    used = turn.tools | ({"any"} if turn.tools else set())
    return (
        record["source"] in (filters.sources or (record["source"],))
        and record["gitBranch"] in (filters.branches or (record["gitBranch"],))
        and any(part.lower() in m for part in filters.models or ("",) for m in (*turn.models, ""))
        and (not filters.tools or any(name.lower() in used for name in filters.tools))
        and (filters.sessions is None or turn.place.session in filters.sessions)
        and (filters.only_ids is None or turn.place.session in filters.only_ids)
        and turn.place.session not in filters.except_ids
        and (filters.subagents == "include" or turn.is_subagent == (filters.subagents == "only"))
        and (filters.since is None or started(turn) >= filters.since)
        and (filters.until is None or started(turn) <= filters.until)
        and passes_project(turn, filters)
    )


@settings(max_examples=scale.of(30, 150), deadline=None)
@given(filter_fields, st.sets(st.sampled_from(KINDS)), st.sampled_from(["words", "literal"]))
def test_hits_are_the_turns_that_match_and_pass_the_filters(
    corpus: Corpus, chosen: dict[str, Any], kinds: set[TextKind], mode: Mode
) -> None:
    filters = make_filters(corpus, chosen)
    request = Request(("plum",), mode, filters, types=tuple(sorted(kinds)), limit=0)
    searched = kinds or (KINDS if mode == "words" else DISCUSSION)
    try:
        answer = corpus.indexed(request)
    except NotFoundError:
        for part in (filters._replace(projects=()), filters._replace(here=None)):
            if not any(passes_project(turn, part) for turn in corpus.turns):
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


def test_most_recent_sessions_do_not_depend_on_the_order_of_ingest(
    tmp_path: Path,
) -> None:
    """Forks share turns and their times, so their ids must decide."""
    found = set()
    for name, is_stepwise in (("steps", True), ("once", False)):
        home = Home(tmp_path / name)
        first = home.claude(1)
        first.turn("plum", "yes")
        forks = [first.fork(first.path.parent, 2, seed) for seed in range(50, 56)]
        for fork, file in enumerate([first, *forks]):
            file.turn(f"another {fork}", "no")
            file.write()
            if is_stepwise:
                home.index()
        home.index()
        until = home.manifest(first.id).entries[0].started
        for number in (1, 2, 3):
            request = Request(("plum",), "literal", Filters(until=until, max_sessions=number))
            for is_indexed in (True, False):
                options = SearchOptions(use_index=is_indexed)
                hits = search(home.config, request, options).answer.hits
                found.add((number, tuple((hit.place, hit.also_in) for hit in hits)))
    assert len(found) == 3


@settings(max_examples=scale.of(30, 150), deadline=None)
@given(
    st.sampled_from(["plum", "plum fig", '"plum"', "fig"]),
    st.sampled_from([(), ("user",), ("tool",), ("user", "thinking")]),
    st.integers(1, 12),
    st.sampled_from([0, 0, 1, 2]),
)
def test_limited_answer_is_the_start_of_the_whole_one(
    corpus: Corpus, query: str, types: tuple[TextKind, ...], limit: int, per_session: int
) -> None:
    """With the same total, and all places of each hit."""
    request = Request((query,), types=types, limit=0, per_session=per_session, needs_all_words=True)
    whole, limited = corpus.indexed(request), corpus.indexed(request._replace(limit=limit))
    assert limited.hits == whole.hits[:limit]
    assert limited.total == whole.total
