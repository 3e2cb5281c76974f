"""The blame verb: the turns that read or changed a file, or the one that wrote a line."""

from collections.abc import Callable

from ccgrep.blame.file_history import BlamedTurn, FileHistory
from ccgrep.config import Config
from ccgrep.refresh.background import Feedback
from ccgrep.refresh.update import refresh
from ccgrep.search.index_opener import open_current_reader
from ccgrep.search.request import Filters
from ccgrep.store.lifecycle import open_store


def refresh_store(config: Config, warn: Callable[[str], None]) -> None:
    """Refresh an existing store, so that the answer includes what an agent did just now."""
    open_store(config.store_dir)  # Raises an error if there is no store.
    refresh(config, Feedback(warn=warn))


def blame(config: Config, file: str, filters: Filters, limit: int = 0) -> list[BlamedTurn]:
    """Return the turns that read or changed a file, the newest first."""
    return _open_history(config, file, filters).turns(limit)


def blame_line(config: Config, file: str, line: int, filters: Filters) -> BlamedTurn:
    """Return the turn that wrote a line of a file as it is now."""
    return _open_history(config, file, filters).writer_of(line)


def _open_history(config: Config, file: str, filters: Filters) -> FileHistory:
    reader = open_current_reader(config.store_dir)
    return FileHistory(open_store(config.store_dir), reader, file, filters)
