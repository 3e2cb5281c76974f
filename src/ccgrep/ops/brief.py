"""Summarizes recent sessions for people."""

from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.index_opener import open_index, repair_index
from ccgrep.search.request import Filters
from ccgrep.search.searcher import Searcher
from ccgrep.search.session_brief import SessionBrief, brief_sessions


def make_brief(config: Config, filters: Filters, limit: int | None) -> list[SessionBrief]:
    """Return the most recent sessions that pass the filters, the newest first."""
    index = open_index(config.store_dir) or repair_index(config.store_dir, lambda _: None)
    if not isinstance(index.texts, TextReader):
        raise NotFoundError("there is no full-text index: run `ccgrep index`")
    return brief_sessions(Searcher(config, index), index.texts, filters, limit)
