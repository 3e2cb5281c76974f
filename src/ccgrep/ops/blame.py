"""The blame verb: the turns that read or changed a file, or the one that wrote a line."""

from ccgrep.blame.access_log import AccessLog, BlamedTurn
from ccgrep.blame.file_history import FileHistory
from ccgrep.config import Config
from ccgrep.search.index_opener import open_current_reader
from ccgrep.search.request import Filters
from ccgrep.store.lifecycle import open_store


def blame(config: Config, file: str, filters: Filters, limit: int = 0) -> list[BlamedTurn]:
    """Return the turns that read or changed the file, the newest first."""
    return FileHistory(_open_log(config, filters), file).turns(limit)


def blame_line(config: Config, file: str, line: int, filters: Filters) -> BlamedTurn:
    """Return the turn that wrote a line of a file as it is now."""
    return FileHistory(_open_log(config, filters), file).writer_of(line)


def _open_log(config: Config, filters: Filters) -> AccessLog:
    store = open_store(config.store_dir)
    return AccessLog(store, open_current_reader(config.store_dir), filters)
