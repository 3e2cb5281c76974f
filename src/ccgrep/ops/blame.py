"""The blame verb: the turns that read or changed a file, or the one that wrote a line."""

from ccgrep.blame.file_history import BlamedTurn, FileHistory
from ccgrep.config import Config
from ccgrep.search.index_opener import open_current_reader
from ccgrep.search.request import Filters
from ccgrep.store.lifecycle import open_store


def blame(config: Config, file: str, filters: Filters, limit: int = 0) -> list[BlamedTurn]:
    """Return the turns that read or changed a file, the newest first."""
    return _open_history(config, file, filters).turns(limit)


def blame_line(config: Config, file: str, line: int, filters: Filters) -> BlamedTurn:
    """Return the turn that wrote a line of a file as it is now."""
    return _open_history(config, file, filters).writer_of(line)


def _open_history(config: Config, file: str, filters: Filters) -> FileHistory:
    reader = open_current_reader(config.store_dir)
    return FileHistory(open_store(config.store_dir), reader, file, filters)
