"""The search verb: searches during a background refresh, and again if that changed the store."""

from __future__ import annotations

import time

from ccgrep.config import Config
from ccgrep.errors import NotFoundError, RefError, TextIndexError, UsageError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.index_opener import open_index, open_without_index, repair_index
from ccgrep.search.request import SEMANTIC_MODES, Answer, Coverage, Request
from ccgrep.search.searcher import FoundHit, Searcher, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccgrep.kinds import TextKind
    from ccgrep.refresh.background import BackgroundRefresh
    from ccgrep.search.index_opener import OpenIndex
    from ccgrep.search.near_miss import NearMiss
    from ccgrep.search.snippet import MatchFinder

    Found = tuple[Searcher, Answer, MatchFinder]


class Result(NamedTuple):
    """An answer, with what is needed to show it."""

    answer: Answer
    finder: MatchFinder
    coverage: Coverage
    seconds: float
    searcher: Searcher
    near_miss: NearMiss | None = None  # for a search without hits

    def load_hits(self, kinds: Sequence[TextKind]) -> list[FoundHit]:
        """Return the hits with their texts."""
        return self.searcher.load_hits(self.answer, self.finder, kinds)


def search(
    config: Config,
    request: Request,
    options: SearchOptions,
    refresh: BackgroundRefresh | None = None,
) -> Result:
    """Answer a request; with `refresh`, from a store that is up to date.

    The first search runs while the refresh does. It counts if the refresh changed nothing.
    """
    if not any(pattern.strip() for pattern in request.patterns):
        raise UsageError("Query required: give a word to search for")
    started = time.monotonic()
    patterns = (text.encode("utf-8", "replace").decode() for text in request.patterns)
    request = request._replace(patterns=tuple(patterns))
    found, error = None, None
    # A semantic search takes longer than change detection, so it runs only once.
    if refresh is None or request.mode not in SEMANTIC_MODES:
        try:
            found = _search_index(config, request, options, is_latest_enough=refresh is None)
        except (NotFoundError, RefError) as missing:
            error = missing  # The refresh may bring what is missing.
    coverage = Coverage(is_fresh=False)
    if refresh is not None:
        refreshed = refresh.wait()
        coverage = Coverage(*refreshed[1:])
        if refreshed.is_changed:
            found, error = None, None
    if error is not None:
        raise error
    if found is None:
        found = _search_index(config, request, options) or _search_repaired(
            config, request, options
        )
    searcher, answer, finder = found
    coverage = coverage._replace(is_whole=searcher.is_whole, embedded=searcher.embedded)
    return Result(answer, finder, coverage, time.monotonic() - started, searcher)


def _search_index(
    config: Config, request: Request, options: SearchOptions, is_latest_enough: bool = False
) -> Found | None:
    """Search the full-text index as it is; return None if it cannot be used."""
    if not options.use_index:
        return None
    index = open_index(config.store_dir, is_latest_enough)
    try:
        return _run(config, request, options, index) if index is not None else None
    except TextIndexError:
        return None


def _search_repaired(config: Config, request: Request, options: SearchOptions) -> Found:
    if options.use_index:
        index = repair_index(config.store_dir, options.warn)
    else:
        index = open_without_index(config.store_dir, request.mode)
    return _run(config, request, options, index)


def _run(config: Config, request: Request, options: SearchOptions, index: OpenIndex) -> Found:
    searcher = Searcher(config, index, options)
    return searcher, *searcher.run(request)
