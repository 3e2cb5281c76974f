"""Filters apply before the limit, whether vectors are compared one by one or found by graphs.

Thousands of turns have vectors that are more similar to the query than the needle's.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.fulltext import generations
from ccgrep.ops.search import search
from ccgrep.search import rank, semantic_rank, semantic_search
from ccgrep.search.request import Answer, Filters, Place, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.semantic import vectors
from ccgrep.semantic.embedding import find_pending
from ccgrep.semantic.encoder import open_encoder
from ccgrep.semantic.vector_writer import Batch, VectorWriter
from tests.helpers.embedded_home import vectors_dir
from tests.helpers.homes import Home
from tests.helpers.models import MODEL

QUERY = "how are the plants in the garden watered"
NEEDLE = "The sprinkler waters the flowers in the garden at dawn"
TURNS = 3000
LONGEST_TEXT_VECTORS = 300


def similar_vectors(query: NDArray[np.float32], number: int) -> NDArray[np.float32]:
    """Return unit vectors whose similarity to the query is between 0.7 and 0.95."""
    rng = np.random.default_rng(5)
    other = rng.normal(size=(number, len(query)))
    other -= (other @ query)[:, None] * query
    other /= np.linalg.norm(other, axis=1)[:, None]
    similarity = rng.uniform(0.7, 0.95, number)[:, None]
    return np.asarray(similarity * query + np.sqrt(1 - similarity**2) * other, np.float32)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("crowd") / "home")
    for seed in range(10):
        file = home.claude(seed + 2)
        file.meta("custom-title", customTitle="-")
        for number in range(TURNS // 10):
            file.turn(f"filler {seed} {number}", f"ok {seed} {number}")
        file.write()
    file = home.claude(1, slug="-home-sam-garden", name="needle11-x", cwd="/home/sam/garden")
    file.meta("custom-title", customTitle="-")
    file.turn(NEEDLE, "It does.")
    for number in range(30):
        file.turn(f"nothing {number}", f"done {number}")
    file.write()
    home.rest()
    home.index()
    encoder = open_encoder(MODEL).encoder
    query, needle = encoder.encode([QUERY, NEEDLE])
    generation = generations.current(str(home.store_dir))
    assert generation is not None
    texts = find_pending(
        generations.open_reader(generation.path), np.empty(0, np.int64), ("prompt", "answer"), None
    ).texts
    keys = [one.key for one in texts if one.session != "needle11-x"]
    crowd = similar_vectors(query, len(keys) + LONGEST_TEXT_VECTORS)
    crowd[-LONGEST_TEXT_VECTORS:] = query  # The most similar text has many vectors.
    keys += [keys[0]] * LONGEST_TEXT_VECTORS
    (needle_key,) = (one.key for one in texts if one[1:] == ("prompt", "needle11-x", 0))
    directory = vectors_dir(home)
    writer = VectorWriter(home.store, directory, graph_vectors=500)
    half = len(keys) // 2
    for part in (slice(0, half), slice(half, None)):
        writer.add(Batch(keys[part], [(0, 1)] * len(keys[part]), crowd[part]))
    writer.add(Batch([needle_key], [(0, len(NEEDLE))], needle[None, :]))
    return home


@pytest.fixture(params=["one by one", "nearest", "graphs"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "one by one":
        monkeypatch.setattr(semantic_rank, "_MAX_COMPARED", 5)
        monkeypatch.setattr(semantic_rank, "_FIRST_FETCH", 8)
    if request.param == "graphs":
        monkeypatch.setattr(vectors, "MAX_WITHOUT_GRAPHS", 0)


def ask(home: Home, filters: Filters = Filters(), **fields: object) -> Answer:  # noqa: B008
    request = Request((QUERY,), "semantic", filters, **fields)  # type: ignore[arg-type]
    return search(home.config, request, SearchOptions()).answer


@pytest.mark.usefixtures("method")
def test_filter_that_keeps_one_project_finds_its_turn(crowd: Home) -> None:
    answer = ask(crowd, Filters(projects=("garden",)), limit=3)
    assert [hit.place for hit in answer.hits] == [Place("needle11-x", 0)]


@pytest.mark.usefixtures("method")
def test_session_filter_applies_to_all_patterns(crowd: Home) -> None:
    request = Request(
        ("quarterly tax returns", QUERY), "semantic", Filters(sessions=("needle",)), limit=3
    )
    answer = search(crowd.config, request, SearchOptions()).answer
    assert [hit.place for hit in answer.hits] == [Place("needle11-x", 0)]


@pytest.mark.usefixtures("method")
def test_text_with_hundreds_of_vectors_hides_no_others(crowd: Home) -> None:
    answer = ask(crowd, limit=20)
    assert len(answer.hits) == 20


@pytest.mark.usefixtures("method")
def test_one_hit_per_session_finds_all_sessions(crowd: Home) -> None:
    answer = ask(crowd, limit=11, per_session=1)
    assert len({hit.place.session for hit in answer.hits}) == len(answer.hits) == 11


def test_graphs_find_most_of_the_nearest_with_the_same_scores(
    crowd: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads build the graphs, so each build may miss other neighbours."""
    # Without these bonuses a score does not depend on which other turns were found.
    monkeypatch.setattr(rank, "_NEIGHBOUR_WEIGHT", 0.0)
    monkeypatch.setattr(rank, "_NEXT_BEST_WEIGHTS", ())
    compared = {hit.place: hit.score for hit in ask(crowd, limit=20).hits}
    monkeypatch.setattr(semantic_rank, "_MAX_COMPARED", 5)
    monkeypatch.setattr(vectors, "MAX_WITHOUT_GRAPHS", 0)
    found = {hit.place: hit.score for hit in ask(crowd, limit=20).hits if hit.place in compared}
    assert len(found) >= 10
    assert found == pytest.approx({place: compared[place] for place in found}, rel=1e-3)


def test_first_search_embeds_the_turns_that_have_its_words(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its budget a search embeds 16 texts. The newest alone would not be enough."""
    monkeypatch.setattr(semantic_search, "_SEARCH_BUDGET_S", 0.0)
    file = home.claude(name="needle11-x")
    file.turn(NEEDLE, "It does.")
    for number in range(60):
        file.turn(f"nothing {number}", f"done {number}")
    file.write()
    home.index()
    request = Request(("garden flowers",), "semantic", limit=3)
    answer = search(home.config, request, SearchOptions(embed_pending=True)).answer
    assert answer.hits[0].place == Place("needle11-x", 0)
