"""Taking in what changes while somebody waits: for `ccgrep mcp`, and `ccgrep index --watch`.

Of many processes on one store one watches, the one that holds the lock for it; the others wait
to follow it. The kernel says when a folder changes, and what is then done is what a search does:
look at the transcripts, take in what grew, or whatever else there is.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from threading import Event
from typing import TYPE_CHECKING

from watchfiles import watch

from ccgrep.config import Config
from ccgrep.errors import CcgrepError, LockedError
from ccgrep.ops import index
from ccgrep.refresh.append import take_in
from ccgrep.refresh.look import changed_since
from ccgrep.store.lifecycle import create_store
from ccgrep.store.lock import WriterLock

if TYPE_CHECKING:
    from ccgrep.refresh.look import Outcome

_STEP_MS = 100
_DEBOUNCE_MS = 1000
_TICK_MS = 1000
_FOLDERS = {"claude_code": ("projects",), "codex": ("sessions", "archived_sessions")}
_NAMES = (".jsonl", ".jsonl.zst", "sessions-index.json")


class Watched:
    """The look at the source files where somebody watches them: there is nothing to look for."""

    def is_decided(self) -> bool:
        return True

    def outcome(self, is_writing: bool = False) -> "Outcome":  # noqa: ARG002
        return "fresh"

    def close(self) -> None:
        pass


def keep_fresh(
    config: Config,
    stop: Event,
    warn: Callable[[str], None],
    on_taken_in: Callable[[], None] = lambda: None,
) -> None:
    """Takes in what changes until `stop` is set."""
    said: set[str] = set()

    def note(text: str) -> None:
        if text not in said:  # A disk that is full stays so for a while.
            said.add(text)
            warn(text)

    while not stop.is_set():
        try:
            create_store(config.store_dir)
            with WriterLock(_lock_path(config), 0):
                _watch(config, stop, note, on_taken_in)
        except LockedError:
            stop.wait(_TICK_MS / 1000)
        except CcgrepError as error:
            note(str(error))
            stop.wait(_TICK_MS / 1000)


def _lock_path(config: Config) -> str:
    """Who watches other directories does not watch for us."""
    roots = zlib.crc32("\n".join(root.path for root in config.roots).encode())
    return os.path.join(config.store_dir, f"watch-{roots:08x}.lock")


def _watch(
    config: Config,
    stop: Event,
    note: Callable[[str], None],
    on_taken_in: Callable[[], None],
) -> None:
    _take_in(config, note, on_taken_in)
    folders = _folders(config)
    # What changed before the kernel began to tell is found by one more look.
    is_due = True
    for changes in _changes(folders, stop, note):
        if changes or is_due:
            is_due = not _take_in(config, note, on_taken_in)
        if _folders(config) != folders:
            return  # One that was not there can be watched now.


def _changes(folders: list[str], stop: Event, note: Callable[[str], None]) -> Iterator[bool]:
    """Whether something changed, again and again; also when nothing did for a while."""
    try:
        yield from _told(folders, stop)
    except (OSError, RuntimeError) as error:
        # As many folders as this may be more than the kernel watches for one user.
        note(f"the system does not tell of changes ({error}): looking for them every second")
        while not stop.wait(_TICK_MS / 1000):
            yield True


def _told(folders: list[str], stop: Event) -> Iterator[bool]:
    if not folders:
        while not stop.wait(_TICK_MS / 1000):
            yield False
        return
    for found in watch(
        *folders,
        watch_filter=lambda _change, path: path.endswith(_NAMES) or os.path.isdir(path),
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stop,
        rust_timeout=_TICK_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    ):
        yield bool(found)


def _folders(config: Config) -> list[str]:
    wanted = [
        os.path.join(root.path, name) for root in config.roots for name in _FOLDERS[root.source]
    ]
    return [path for path in wanted if os.path.isdir(path)]


def _take_in(config: Config, note: Callable[[str], None], on_taken_in: Callable[[], None]) -> bool:
    """Brings the store up to date; says whether it is."""
    try:
        if not _take_in_little(config):
            index.index(config, wait_s=0)
    except LockedError:
        return False  # Somebody else is at it, and may not have seen what we were told of.
    except CcgrepError as error:
        note(str(error))
        return True  # Until something changes, it would fail again.
    on_taken_in()
    return True


def _take_in_little(config: Config) -> bool:
    """Takes in what only grew, if that is all; says whether it was."""
    changed = changed_since(config.store_dir, [root.path for root in config.roots], config.exclude)
    if changed is None:
        return False
    return not changed or take_in(config.store_dir, config.roots, config.exclude, changed)
