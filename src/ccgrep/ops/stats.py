"""What was used, how often: reports on tallies that are brought up to date first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ccgrep.config import Config
from ccgrep.errors import TallyError
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.request import Coverage, Filters
from ccgrep.stats.report import BashUse, Dimension, Overview, Report, TokenReport, ToolUse
from ccgrep.stats.suggest import Suggestions, suggest
from ccgrep.stats.update import Progress, open_tallies
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.store import Store

T = TypeVar("T")


class Asked(NamedTuple):
    """The turns to report on; with `refresh`, from a store that is up to date."""

    config: Config
    filters: Filters = Filters()
    on_tally: Callable[[Progress], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    refresh: BackgroundRefresh | None = None


def overview(asked: Asked) -> tuple[Overview, Coverage]:
    """Sessions, turns, tools and tokens; by source, project and day."""
    return _report(asked, lambda report: report.overview())


def tools(asked: Asked) -> tuple[tuple[ToolUse, ...], Coverage]:
    return _report(asked, lambda report: report.tools())


def bash(asked: Asked) -> tuple[tuple[BashUse, ...], Coverage]:
    return _report(asked, lambda report: report.bash())


def tokens(asked: Asked, dimensions: Sequence[Dimension]) -> tuple[TokenReport, Coverage]:
    return _report(asked, lambda report: report.tokens(dimensions))


def suggestions(asked: Asked) -> tuple[Suggestions, Coverage]:
    """Permissions that are safe to give, by how often they would have been of use."""
    return _report(asked, lambda report: suggest(report.shell_uses()))


def _report(asked: Asked, make: Callable[[Report], T]) -> tuple[T, Coverage]:
    coverage = Coverage(is_fresh=False)
    if asked.refresh is not None:
        coverage = Coverage(*asked.refresh.wait()[1:])
    made = read_consistently(asked.config.store_dir, lambda store: _made(store, asked, make))
    return made, coverage


def _made(store: Store, asked: Asked, make: Callable[[Report], T]) -> T:
    """Tallies that turn out to be damaged are made anew, one after another."""
    damaged: set[str] = set()
    while True:
        try:
            opened = open_tallies(store, asked.on_tally, asked.warn, damaged)
            return make(Report(opened, asked.filters))
        except TallyError as error:
            if error.name in damaged:
                raise
            asked.warn("a tally is damaged: making it anew")
            damaged.add(error.name)
