"""One writer at a time: an flock on the store's `lock` file.

The kernel releases it when its holder dies, so there is no stale lock to clear. The
owner's name in the file serves messages only.
"""

import errno
import fcntl
import os
import time
from types import TracebackType

from ccgrep.errors import LockedError, WriteError
from ccgrep.store import fsio

_POLL_S = 0.02


class WriterLock:
    """Held while the store is written; waits up to `wait_s` for another writer."""

    def __init__(self, path: str, wait_s: float) -> None:
        self._path = path
        self._wait_s = wait_s
        self._descriptor = -1

    def __enter__(self) -> "WriterLock":
        deadline = time.monotonic() + self._wait_s
        self._descriptor = fsio.open_lock(self._path)
        while not self._try() or self._is_moved():
            if time.monotonic() >= deadline:
                owner = os.pread(self._descriptor, 200, 0).decode("utf-8", "replace")
                os.close(self._descriptor)
                raise LockedError(
                    f"another ccgrep is writing to the store ({owner.strip() or 'unknown'}): "
                    "wait until it is done, or stop it"
                )
            time.sleep(_POLL_S)
        fsio.write_owner(self._descriptor, f"process {os.getpid()}\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def _is_moved(self) -> bool:
        """Whether the store was set aside while we waited; then the new one is locked."""
        try:
            here = os.stat(self._path)
        except FileNotFoundError:
            here = None
        if here is not None and here.st_ino == os.fstat(self._descriptor).st_ino:
            return False
        os.close(self._descriptor)
        self._descriptor = fsio.open_lock(self._path)
        return True

    def _try(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno == errno.EINTR:
                return False
            raise WriteError(
                f"cannot lock {self._path} ({error.strerror}): "
                "put the store on a filesystem with locks (CCGREP_DIR)"
            ) from error
        return True
