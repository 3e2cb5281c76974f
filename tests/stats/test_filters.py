"""Stats counts the turns that a search with the same filters would look at, and no others."""

from typing import Any

import pytest
from hypothesis import given, settings

from ccgrep.errors import NotFoundError
from ccgrep.search.request import Filters, Place, Request
from ccgrep.search.store_scan import StoreScan
from ccgrep.stats.report import Report
from ccgrep.stats.update import Opened, open_tallies
from tests.helpers import scale
from tests.helpers.filter_strategies import filter_fields, make_filters
from tests.helpers.homes import Home
from tests.helpers.search_corpus import Corpus, make_corpus


class Tallied:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.opened: Opened = open_tallies(corpus.home.store)

    def places(self, filters: Filters) -> set[Place]:
        report = Report(self.opened, filters)
        tables = self.opened.tables
        session = tables["session.id"][tables["turn.session"][report.chosen]].tolist()
        numbers = tables["turn.number"][report.chosen].tolist()
        return {Place(id.decode(), n) for id, n in zip(session, numbers, strict=True)}

    def counted(self, filters: Filters) -> int:
        return int(Report(self.opened, filters).counted.sum())


@pytest.fixture(scope="module")
def tallied(tmp_path_factory: pytest.TempPathFactory) -> Tallied:
    return Tallied(make_corpus(Home(tmp_path_factory.mktemp("stats") / "home")))


@settings(max_examples=scale.of(80, 200), deadline=None)
@given(filter_fields)
def test_the_turns_are_those_that_pass_the_filters_of_a_search(
    tallied: Tallied, chosen: dict[str, Any]
) -> None:
    corpus = tallied.corpus
    filters = make_filters(corpus, chosen)
    try:
        scan = StoreScan(corpus.home.store, filters)
    except NotFoundError:
        with pytest.raises(NotFoundError):
            tallied.places(filters)
        return
    found = list(scan.candidates(Request(("",))))
    assert tallied.places(filters) == {candidate.place for candidate in found}
    assert tallied.counted(filters) == len({one.document.object_key for one in found})
