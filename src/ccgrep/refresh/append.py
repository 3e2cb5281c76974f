"""Taking in transcripts that grew, while a search is under way."""

from collections.abc import Sequence
from contextlib import suppress

from ccgrep.errors import StoreError
from ccgrep.ingest.run import Asker, Options, append
from ccgrep.refresh.handover import HandedWriter
from ccgrep.refresh.look import READY, WRITING
from ccgrep.refresh.messages import Line
from ccgrep.sources.scan import Root, found_files
from ccgrep.store.lifecycle import open_store

_WAIT_S = 0.2
_MAX_BYTES = 64 * 1024 * 1024
"""The consumed part of a file is compared by its checksum: 64 MB take 20 ms."""


def take_in(
    store_dir: str,
    roots: Sequence[Root],
    exclude: tuple[str, ...],
    paths: list[str],
    asker: Asker | None = None,
) -> bool:
    """Takes in the few transcripts that have changed; says whether it could."""
    found = found_files(list(roots), paths)
    if found is None or sum(file.size for file in found.files.values()) > _MAX_BYTES:
        return False
    try:
        options = Options(wait_s=_WAIT_S, exclude=exclude)
        return append(open_store(store_dir), found, options, asker or Asker())
    except StoreError:
        return False


class Waiting(Asker):
    """A process that began this one, at the other end of a line. A search has tantivy at hand, and
    writes to the text index itself, if it is waiting by now: it may be waiting for somebody who
    waits for the lock."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def writer(self) -> HandedWriter | None:
        return HandedWriter(self._line) if self._line.heard() == WRITING else None

    def ready(self) -> None:
        with suppress(BrokenPipeError):  # It does not wait any more.
            self._line.send(READY)
