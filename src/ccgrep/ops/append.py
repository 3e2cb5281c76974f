"""Taking in transcripts that grew, while a search is under way."""

from collections.abc import Callable

from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.index.build import Options, append
from ccgrep.sources.scan import found_files
from ccgrep.store.database import open_store

_WAIT_S = 0.2
_MAX_BYTES = 64 * 1024 * 1024
"""The consumed part of a file is compared by its checksum: 64 MB take 20 ms."""


def take_in(
    config: Config, paths: list[str], on_ready: Callable[[], object] = lambda: None
) -> bool:
    """Takes in the few transcripts that have changed; says whether it could. What comes after
    `on_ready` is of no concern to who searches for them."""
    found = found_files(list(config.roots), paths)
    if found is None or sum(file.size for file in found.files.values()) > _MAX_BYTES:
        return False
    try:
        options = Options(wait_s=_WAIT_S, exclude=config.exclude)
        return append(open_store(config.store_dir), found, options, on_ready)
    except StoreError:
        return False
