"""ccgrep stats: refresh the store, bring the tallies up to date, and report on them."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ccgrep.config import Config
from ccgrep.errors import TallyError
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.request import Coverage, Filters
from ccgrep.stats.prices import Prices
from ccgrep.stats.report import Report
from ccgrep.stats.tallies import Progress, open_tallies
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.store import Store

T = TypeVar("T")


class StatsRequest(NamedTuple):
    """The turns to count. With `refresh`, the store is up to date before they are counted."""

    config: Config
    filters: Filters = Filters()
    on_progress: Callable[[Progress], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    refresh: BackgroundRefresh | None = None
    prices: Prices | None = None


def make_report(request: StatsRequest, make: Callable[[Report], T]) -> tuple[T, Coverage]:
    """Return what `make` reads from the tallies, and how much of the transcripts they cover."""
    coverage = Coverage(is_fresh=False)
    if request.refresh is not None:
        coverage = Coverage(*request.refresh.wait()[1:])
    report = read_consistently(request.config.store_dir, lambda store: _build(store, request, make))
    return report, coverage


def _build(store: Store, request: StatsRequest, make: Callable[[Report], T]) -> T:
    """Make a report. Rebuild each tally that turns out to be damaged."""
    damaged: set[str] = set()
    while True:
        try:
            tallies = open_tallies(store, request.on_progress, request.warn, damaged)
            return make(Report(tallies, request.filters, request.prices))
        except TallyError as error:
            if error.name in damaged:
                raise
            request.warn("a tally is damaged: rebuilding it")
            damaged.add(error.name)
