"""Taking in transcripts that grew, while a search is under way."""

from collections.abc import Callable, Sequence

from ccgrep.errors import StoreError
from ccgrep.index.build import Options, append
from ccgrep.sources.scan import Root, found_files
from ccgrep.store.database import open_store

_WAIT_S = 0.2
_MAX_BYTES = 64 * 1024 * 1024
"""The consumed part of a file is compared by its checksum: 64 MB take 20 ms."""


def take_in(
    store_dir: str,
    roots: Sequence[Root],
    exclude: tuple[str, ...],
    paths: list[str],
    on_ready: Callable[[], object] = lambda: None,
) -> bool:
    """Takes in the few transcripts that have changed; says whether it could. What comes after
    `on_ready` is of no concern to who searches for them."""
    found = found_files(list(roots), paths)
    if found is None or sum(file.size for file in found.files.values()) > _MAX_BYTES:
        return False
    try:
        options = Options(wait_s=_WAIT_S, exclude=exclude)
        return append(open_store(store_dir), found, options, on_ready)
    except StoreError:
        return False
