"""`ccgrep stats` counts exactly the turns that a search with the same filters considers."""

from typing import Any

import pytest
from hypothesis import given, settings

from ccgrep.errors import NotFoundError
from ccgrep.search.request import Filters, Place, Request
from ccgrep.search.store_scan import StoreScan
from ccgrep.stats.report import Report
from ccgrep.stats.tallies import open_tallies
from tests.helpers import scale
from tests.helpers.filter_strategies import filter_fields, make_filters
from tests.helpers.homes import Home
from tests.helpers.search_corpus import Corpus, make_corpus


class TalliedCorpus:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.tallies = open_tallies(corpus.home.store)

    def places(self, filters: Filters) -> set[Place]:
        report = Report(self.tallies, filters)
        tally = self.tallies.merged
        session = tally["session.id"][tally["turn.session"][report.chosen]].tolist()
        numbers = tally["turn.number"][report.chosen].tolist()
        return {Place(id.decode(), n) for id, n in zip(session, numbers, strict=True)}

    def count(self, filters: Filters) -> int:
        return int(Report(self.tallies, filters).counted.sum())


@pytest.fixture(scope="module")
def tallied(tmp_path_factory: pytest.TempPathFactory) -> TalliedCorpus:
    return TalliedCorpus(make_corpus(Home(tmp_path_factory.mktemp("stats") / "home")))


@settings(max_examples=scale.of(80, 200), deadline=None)
@given(filter_fields)
def test_chosen_turns_are_the_candidates_of_a_search(
    tallied: TalliedCorpus, chosen: dict[str, Any]
) -> None:
    corpus = tallied.corpus
    filters = make_filters(corpus, chosen)
    try:
        scan = StoreScan(corpus.home.store, filters)
    except NotFoundError:
        with pytest.raises(NotFoundError):
            tallied.places(filters)
        return
    candidates = list(scan.candidates(Request(("",))))
    assert tallied.places(filters) == {candidate.place for candidate in candidates}
    assert tallied.count(filters) == len(
        {candidate.document.object_key for candidate in candidates}
    )
