"""The blame verb: the turns that read or changed a file, or the one that wrote a line."""

from ccgrep.blame.access_log import BlamedTurn, open_access_log
from ccgrep.blame.file_history import FileHistory
from ccgrep.config import Config
from ccgrep.search.request import Filters


def blame(config: Config, file: str, filters: Filters, limit: int = 0) -> list[BlamedTurn]:
    """Return the turns that read or changed the file, the newest first."""
    return FileHistory(open_access_log(config.store_dir, filters), file).turns(limit)


def blame_line(config: Config, file: str, line: int, filters: Filters) -> BlamedTurn:
    """Return the turn that wrote a line of a file as it is now."""
    return FileHistory(open_access_log(config.store_dir, filters), file).writer_of(line)
