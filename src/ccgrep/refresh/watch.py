"""Keeps the store fresh while `ccgrep mcp` or `ccgrep index --watch` runs.

Processes that share a store elect one watcher, the one that holds the watch lock. Another takes
over when it exits. When the kernel reports a change, the watcher does what a search does: it
detects changes and ingests them.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from threading import Event

from watchfiles import watch

from ccgrep.config import Config
from ccgrep.errors import CcgrepError, LockedError
from ccgrep.refresh.change_detector import detect_changes
from ccgrep.refresh.update import build, ingest_grown, make_options
from ccgrep.sources.registry import find_source
from ccgrep.store.lifecycle import create_store
from ccgrep.store.lock import WriterLock

_STEP_MS = 100
_DEBOUNCE_MS = 1000
_TICK_MS = 1000
_NAMES = (".jsonl", ".jsonl.zst", ".json", ".md", ".db", ".db-wal", ".vscdb", ".vscdb-wal")


def keep_fresh(
    config: Config,
    stop: Event,
    warn: Callable[[str], None],
    on_ingested: Callable[[], None] = lambda: None,
) -> None:
    """Ingest changes until `stop` is set."""
    warned: set[str] = set()

    def warn_once(text: str) -> None:
        if text not in warned:  # A full disk stays full for a while.
            warned.add(text)
            warn(text)

    while not stop.is_set():
        try:
            create_store(config.store_dir)
            with WriterLock(_lock_path(config), 0):
                _watch(config, stop, warn_once, on_ingested)
        except LockedError:
            stop.wait(_TICK_MS / 1000)
        except CcgrepError as error:
            warn_once(str(error))
            stop.wait(_TICK_MS / 1000)


def _lock_path(config: Config) -> str:
    """Return the watch lock's path: a watcher of other roots does not count."""
    roots = zlib.crc32("\n".join(root.path for root in config.roots).encode())
    return os.path.join(config.store_dir, f"watch-{roots:08x}.lock")


def _watch(
    config: Config, stop: Event, warn: Callable[[str], None], on_ingested: Callable[[], None]
) -> None:
    _ingest(config, warn, on_ingested)
    folders = _folders(config)
    # A change before the kernel began to report is found by one more ingest.
    is_due = True
    for changes in _changes(folders, stop, warn):
        if changes or is_due:
            is_due = not _ingest(config, warn, on_ingested)
        if _folders(config) != folders:
            return  # A new folder can be watched now.


def _changes(folders: list[str], stop: Event, warn: Callable[[str], None]) -> Iterator[bool]:
    """Yield whether something changed, at least once per tick."""
    is_watching = bool(folders)
    try:
        if is_watching:
            changes = watch(
                *folders,
                watch_filter=lambda _change, path: path.endswith(_NAMES) or os.path.isdir(path),
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                stop_event=stop,
                rust_timeout=_TICK_MS,
                yield_on_timeout=True,
                ignore_permission_denied=True,
            )
            yield from map(bool, changes)
    except (OSError, RuntimeError) as error:
        # The kernel limits the number of watched folders per user.
        warn(f"cannot watch for changes ({error}): checking every second instead")
    while not stop.wait(_TICK_MS / 1000):
        yield is_watching


def _folders(config: Config) -> list[str]:
    wanted = [
        os.path.join(root.path, name).rstrip(os.sep)
        for root in config.roots
        for name in find_source(root.source).watched
    ]
    return [path for path in wanted if os.path.exists(path)]


def _ingest(config: Config, warn: Callable[[str], None], on_ingested: Callable[[], None]) -> bool:
    """Bring the store up to date; return False if it has to be tried again."""
    roots = [root.path for root in config.roots]
    try:
        changed = detect_changes(config.store_dir, roots, config.exclude)
        if changed is None or (changed and not ingest_grown(config, changed)):
            build(create_store(config.store_dir), make_options(config, wait_s=0))
    except LockedError:
        return False  # The other process may not have seen the change that woke this one.
    except CcgrepError as error:
        warn(str(error))
        return True  # It would fail again until something changes.
    on_ingested()
    return True
