"""Run ccgrep without the calls that only Linux has, since macOS cannot be tested here.

    pytest -p tests.helpers.portability tests/store     a suite and the commands that it runs
    PYTHONPATH=src:.:tests/helpers/site python ...      any other process

Hidden are functions that macOS lacks, `/proc` and `/sys`. `F_FULLFSYNC` exists and is recorded.
This does not imitate what macOS has of its own, such as file names that ignore case.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import io
import mmap
import os
import resource
import select
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

LINUX_ONLY: dict[ModuleType, tuple[str, ...]] = {
    os: (
        "copy_file_range", "eventfd", "fdatasync", "getrandom", "getresgid", "getresuid",
        "memfd_create", "pidfd_open", "pipe2", "posix_fadvise", "posix_fallocate", "pwritev2",
        "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_setaffinity",
        "setresgid", "setresuid", "splice", "O_DIRECT", "O_LARGEFILE", "O_NOATIME", "O_PATH",
        "O_RSYNC", "O_TMPFILE",
    ),
    fcntl: (
        "F_ADD_SEALS", "F_GETPIPE_SZ", "F_NOTIFY", "F_OFD_SETLK", "F_OFD_SETLKW", "F_SETPIPE_SZ",
    ),
    mmap: (
        "MADV_DONTFORK", "MADV_HUGEPAGE", "MADV_MERGEABLE", "MADV_REMOVE", "MAP_DENYWRITE",
        "MAP_EXECUTABLE", "MAP_POPULATE",
    ),
    resource: ("RUSAGE_THREAD", "prlimit"),
    select: ("epoll",),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
}  # fmt: skip
"""Names of the standard library that exist on Linux and not on macOS."""

F_FULLFSYNC = 51
full_syncs: list[int] = []
"""The descriptors that were synced by `F_FULLFSYNC`."""

_GLIBC_ONLY = ("malloc_trim", "prctl")
_SITE = Path(__file__).with_name("site")
_ROOT = Path(__file__).parents[2]
_is_hidden = False


def python_path(source: str) -> str:
    """Return a PYTHONPATH whose processes hide the same calls as this one."""
    return os.pathsep.join([source, str(_SITE), str(_ROOT)]) if _is_hidden else source


def hide_linux() -> None:
    """Hide what only Linux has from this process."""
    global _is_hidden  # noqa: PLW0603 - it cannot be undone
    if _is_hidden:
        return
    _is_hidden = True
    tempfile._O_TMPFILE_WORKS = False  # type: ignore[attr-defined] # It looked before us.
    for module, names in LINUX_ONLY.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in ("access", "listdir", "lstat", "open", "readlink", "scandir", "stat", "statvfs"):
        setattr(os, name, _without_proc(getattr(os, name)))
    builtins.open = io.open = _without_proc(open)
    _hide_glibc()
    _add_full_sync()


def _without_proc(call: Callable[..., Any]) -> Callable[..., Any]:
    def refuse_proc(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        if not isinstance(path, int) and os.fsdecode(path).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return call(path, *arguments, **options)

    return refuse_proc


def _hide_glibc() -> None:
    find = ctypes.CDLL.__getattr__

    def find_portable(library: ctypes.CDLL, name: str) -> Any:
        if name in _GLIBC_ONLY:
            raise AttributeError(name)
        return find(library, name)

    ctypes.CDLL.__getattr__ = find_portable  # type: ignore[method-assign]


def _add_full_sync() -> None:
    call = fcntl.fcntl

    def full_sync(descriptor: int, command: int, argument: Any = 0) -> Any:
        if command == F_FULLFSYNC:
            full_syncs.append(descriptor)
            os.fsync(descriptor)
            return 0
        return call(descriptor, command, argument)

    fcntl.F_FULLFSYNC = F_FULLFSYNC  # type: ignore[attr-defined]
    fcntl.fcntl = full_sync  # type: ignore[assignment]


def pytest_configure(config: pytest.Config) -> None:
    hide_linux()
