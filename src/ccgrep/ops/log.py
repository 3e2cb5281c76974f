"""The log verb: the turns in time order."""

from collections.abc import Iterator

from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.index_opener import open_index, repair_index
from ccgrep.search.request import Filters
from ccgrep.search.searcher import Searcher
from ccgrep.search.turn_log import LoggedTurn, log_turns


def read_log(
    config: Config, filters: Filters, pattern: str = "", limit: int = 0
) -> Iterator[LoggedTurn]:
    """Yield the turns that pass the filters and have all words of the pattern, newest first."""
    index = open_index(config.store_dir) or repair_index(config.store_dir, lambda _: None)
    if not isinstance(index.texts, TextReader):
        raise NotFoundError("there is no full-text index: run `ccgrep index`")
    return log_turns(Searcher(config, index), index.texts, filters, pattern, limit)
