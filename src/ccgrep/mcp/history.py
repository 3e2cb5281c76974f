"""Where the tools read: this machine's store, or whatever else has the same methods."""

from typing import Protocol

from ccgrep.config import Config
from ccgrep.kinds import DefaultMode
from ccgrep.ops.list import ListedSession, list_sessions
from ccgrep.ops.search import Result, search
from ccgrep.ops.show import Conversation, show_range
from ccgrep.search.default_mode import set_best_mode
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import SearchOptions


class History(Protocol):
    """Sessions that can be searched, listed and read."""

    def set_mode(self, request: Request, wanted: DefaultMode) -> Request:
        """Return a request for ranked words in the wanted mode, or in the best one."""

    def search(self, request: Request, options: SearchOptions) -> Result: ...

    def list_sessions(self, filters: Filters, is_folded: bool) -> list[ListedSession]: ...

    def show_range(self, session_id: str, start: int, count: int) -> Conversation: ...


class StoreHistory:
    """The sessions of this machine's store."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def set_mode(self, request: Request, wanted: DefaultMode) -> Request:
        return set_best_mode(request, wanted, self._config.store_dir)

    def search(self, request: Request, options: SearchOptions) -> Result:
        return search(self._config, request, options)

    def list_sessions(self, filters: Filters, is_folded: bool) -> list[ListedSession]:
        return list_sessions(self._config, filters, is_folded=is_folded)

    def show_range(self, session_id: str, start: int, count: int) -> Conversation:
        return show_range(self._config, session_id, start, count)
