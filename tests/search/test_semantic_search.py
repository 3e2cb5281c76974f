"""Filters come before the cut, however the nearest are looked for: one by one or by graphs.

Thousands of turns have vectors that are nearer to the query than the one that is meant.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.fulltext import generations
from ccgrep.ops.search import search
from ccgrep.search import semantic_rank
from ccgrep.search.request import Answer, Filters, Place, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.semantic import vectors
from ccgrep.semantic.embedding import pending
from ccgrep.semantic.encoder import open_encoder
from ccgrep.semantic.vectors import Batch, VectorWriter
from tests.helpers.embedded_home import vectors_dir
from tests.helpers.homes import Home
from tests.helpers.models import MODEL

QUERY = "how are the plants in the garden watered"
NEEDLE = "The sprinkler waters the flowers in the garden at dawn"
TURNS = 3000
LONG = 300
"""How many vectors the longest text has."""


def near(query: NDArray[np.float32], number: int) -> NDArray[np.float32]:
    """Unit vectors around a query, at similarities between 0.7 and 0.95."""
    rng = np.random.default_rng(5)
    other = rng.normal(size=(number, len(query)))
    other -= (other @ query)[:, None] * query
    other /= np.linalg.norm(other, axis=1)[:, None]
    much = rng.uniform(0.7, 0.95, number)[:, None]
    return np.asarray(much * query + np.sqrt(1 - much**2) * other, np.float32)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("crowd") / "home")
    for seed in range(10):
        file = home.claude(seed + 2)
        file.meta("custom-title", customTitle="-")
        for number in range(TURNS // 10):
            file.turn(f"filler {seed} {number}", f"ok {seed} {number}")
        file.write()
    one = home.claude(1, slug="-home-sam-garden", name="needle11-x", cwd="/home/sam/garden")
    one.meta("custom-title", customTitle="-")
    one.turn(NEEDLE, "It does.")
    for number in range(30):
        one.turn(f"nothing {number}", f"done {number}")
    one.write()
    home.rest()
    home.index()
    encoder = open_encoder(MODEL).encoder
    query, needle = encoder.encode([QUERY, NEEDLE])
    found = generations.current(str(home.store_dir))
    assert found is not None
    texts = pending(
        generations.open_reader(found.path), np.empty(0, np.int64), ("prompt", "answer"), None
    ).texts
    keys = [one.key for one in texts if one.session != "needle11-x"]
    crowd = near(query, len(keys) + LONG)
    crowd[-LONG:] = query  # the nearest of all is one text that has many vectors
    keys += [keys[0]] * LONG
    (meant,) = (one.key for one in texts if one[1:] == ("prompt", "needle11-x", 0))
    directory = vectors_dir(home)
    writer = VectorWriter(home.store, directory, graph_vectors=500)
    half = len(keys) // 2
    for part in (slice(0, half), slice(half, None)):
        writer.add(Batch(keys[part], [(0, 1)] * len(keys[part]), crowd[part]))
    writer.add(Batch([meant], [(0, len(NEEDLE))], needle[None, :]))
    return home


@pytest.fixture(params=["one by one", "nearest", "graphs"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param != "one by one":
        monkeypatch.setattr(semantic_rank, "_MAX_COMPARED", 5)
        monkeypatch.setattr(semantic_rank, "_FIRST_FETCH", 8)
    if request.param == "graphs":
        monkeypatch.setattr(vectors, "_ALL_COMPARED", 0)
    yield request.param


def ask(home: Home, filters: Filters = Filters(), **fields: object) -> Answer:  # noqa: B008
    request = Request((QUERY,), "semantic", filters, **fields)  # type: ignore[arg-type]
    return search(home.config, request, SearchOptions()).answer


def test_filter_that_keeps_one_project_finds_its_turn(crowd: Home, way: str) -> None:
    answer = ask(crowd, Filters(project="garden"), limit=3)
    assert [hit.place for hit in answer.hits] == [Place("needle11-x", 0)]


def test_session_and_several_patterns(crowd: Home, way: str) -> None:
    request = Request(
        ("quarterly tax returns", QUERY), "semantic", Filters(sessions=("needle",)), limit=3
    )
    answer = search(crowd.config, request, SearchOptions()).answer
    assert [hit.place for hit in answer.hits] == [Place("needle11-x", 0)]


def test_text_with_hundreds_of_vectors_hides_no_other(crowd: Home, way: str) -> None:
    answer = ask(crowd, limit=20)
    assert len(answer.hits) == 20


def test_at_most_one_of_a_session_is_as_many_as_there_are_sessions(crowd: Home, way: str) -> None:
    answer = ask(crowd, limit=11, per_session=1)
    assert len({hit.place.session for hit in answer.hits}) == len(answer.hits) == 11


def test_graphs_answer_as_comparing_does(crowd: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for a neighbour now and then that a graph does not lead to: threads make it, and never
    quite the same."""
    monkeypatch.setattr(semantic_rank, "_MAX_COMPARED", 5)
    exact = {hit.place: hit.score for hit in ask(crowd, limit=10).hits}
    monkeypatch.setattr(vectors, "_ALL_COMPARED", 0)
    found = ask(crowd, limit=10).hits
    known = [hit for hit in found if hit.place in exact]
    assert len(known) >= 9
    assert [hit.score for hit in known] == pytest.approx(
        [exact[hit.place] for hit in known], abs=1e-4
    )
