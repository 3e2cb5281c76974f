"""The log verb: the turns in time order, and a report of each day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ccgrep.blame.day_report import DayReport, report_days
from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.index_opener import open_index, repair_index
from ccgrep.search.request import Filters
from ccgrep.search.searcher import Searcher
from ccgrep.search.turn_log import LoggedTurn, log_turns
from ccgrep.search.turn_reader import TurnReader
from ccgrep.store.lifecycle import open_store

if TYPE_CHECKING:
    from ccgrep.stats.report import DayCost  # imports numpy


def read_log(
    config: Config, filters: Filters, pattern: str = "", limit: int = 0
) -> Iterator[LoggedTurn]:
    """Yield the turns that pass the filters and have all words of the pattern, newest first."""
    searcher, texts = _open(config)
    return log_turns(searcher, texts, filters, pattern, limit)


def report_log(
    config: Config, filters: Filters, pattern: str, day_of: Callable[[int], str]
) -> list[DayReport]:
    """Return what was done on each day in each project, without the costs."""
    searcher, texts = _open(config)
    asked = log_turns(searcher, texts, filters._replace(subagents="exclude"), pattern)
    worked = log_turns(searcher, texts, filters._replace(subagents="include"), pattern)
    reader = TurnReader(open_store(config.store_dir), find_key=texts.turn_key)
    return list(report_days(asked, worked, reader, day_of))


def add_costs(
    reports: Iterable[DayReport], costs: Mapping[tuple[str, str], DayCost]
) -> list[DayReport]:
    """Return the reports with what each day cost in its project."""
    spent = ((one, costs.get((one.day, one.project))) for one in reports)
    return [
        replace(one, cost=own.cost if own else 0, unpriced=own.unpriced if own else ())
        for one, own in spent
    ]


def _open(config: Config) -> tuple[Searcher, TextReader]:
    index = open_index(config.store_dir) or repair_index(config.store_dir, lambda _: None)
    if not isinstance(index.texts, TextReader):
        raise NotFoundError("there is no full-text index: run `ccgrep index`")
    return Searcher(config, index), index.texts
