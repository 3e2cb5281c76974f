"""Keeps a text index from filling the memory while tantivy merges it.

Tantivy maps the files that it merges, and touches all of them: as much would be in memory as there
is index. The pages are the kernel's to take back, but it does so only when memory is short. Here it
is asked to, as soon as they are too many; what is still needed is read again. Nothing is changed by
that, whatever else may be at an address meanwhile. Where the kernel cannot do it, nothing happens.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress

_MOST_BYTES = 64 * 1024 * 1024
_EVERY_S = 0.01
"""A merge reads some ten megabytes in that time."""
_MADV_PAGEOUT = 21
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def keep_small(directory: str, most_bytes: int = _MOST_BYTES) -> Callable[[], None]:
    """From here on, no more of the files in `directory` is in memory than that, or little; what is
    given ends it."""
    is_done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(directory, most_bytes, is_done), daemon=True)
    watcher.start()

    def end() -> None:
        is_done.set()
        if threading.current_thread() is not watcher:  # It may be the one that collects garbage.
            watcher.join()

    return end


def _watch(directory: str, most_bytes: int, is_done: threading.Event) -> None:
    with suppress(AttributeError, OSError):  # There is no such call, or no such file.
        madvise = ctypes.CDLL(None).madvise
        while not is_done.wait(_EVERY_S):
            if _mapped_bytes() > most_bytes:
                for start, end in _places(directory):
                    madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_PAGEOUT)
                give_back()


def give_back() -> None:
    """What was freed goes back to the system, where the library for C can do that."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _mapped_bytes() -> int:
    """Resident bytes of all files that this process has mapped."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[2]) * _PAGE_BYTES


def _places(directory: str) -> list[tuple[int, int]]:
    """Where the files of a directory are mapped, also those that were removed since."""
    name = os.fsencode(os.path.realpath(directory)) + b"/"
    with open("/proc/self/maps", "rb") as file:
        found = [line.split(maxsplit=5) for line in file]
    ranges = [fields[0].split(b"-") for fields in found if fields[-1].startswith(name)]
    return [(int(start, 16), int(end, 16)) for start, end in ranges]
