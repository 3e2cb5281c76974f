"""One writer at a time: an flock on the store's `lock` file.

The kernel releases it when its holder dies, so there is no stale lock to clear. The
owner's name in the file serves messages only.

On a network filesystem an flock may keep out only processes of this machine, or none at all. There
the writer also holds a directory `<lock>.d`, whose file `owner` has machine, process and when that
began. What a dead process of this machine left is removed; what another machine left is named.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from ccgrep.errors import LockedError, WriteError
from ccgrep.store import fsio

_POLL_S = 0.02
_NETWORK = frozenset(
    "9p afs ceph cifs fuse.glusterfs fuse.sshfs lustre ncpfs nfs nfs4 smb3 smbfs".split()
)


class WriterLock:
    """Held while the store is written; waits up to `wait_s` for another writer."""

    def __init__(self, path: str, wait_s: float) -> None:
        self._path = path
        self._wait_s = wait_s
        self._descriptor = -1
        self._is_claimed = False

    def __enter__(self) -> "WriterLock":
        deadline = time.monotonic() + self._wait_s
        self._descriptor = fsio.open_lock_file(self._path)
        while not self._try() or self._is_moved():
            self._wait(deadline, os.pread(self._descriptor, 200, 0).decode("utf-8", "replace"))
        if network_filesystem(os.path.dirname(self._path)):
            self._is_claimed = True
            while not fsio.claim(self._claim, _process(os.getpid())):
                self._drop_stale_claim()
                self._wait(deadline, self._owner())
        fsio.write_owner(self._descriptor, f"process {os.getpid()}\n")
        return self

    def _wait(self, deadline: float, owner: str) -> None:
        if time.monotonic() < deadline:
            time.sleep(_POLL_S)
            return
        os.close(self._descriptor)
        hint = f", or delete {self._claim} if its machine is gone" if self._is_claimed else ""
        raise LockedError(
            f"another ccgrep is writing to the store ({owner.strip() or 'unknown'}): "
            f"wait until it is done, or stop it{hint}"
        )

    @property
    def _claim(self) -> str:
        return f"{self._path}.d"

    def _owner(self) -> str:
        return _read(os.path.join(self._claim, "owner"))

    def _drop_stale_claim(self) -> None:
        """Removes the claim of a dead process; for who has the flock, so for one at a time."""
        machine, _, rest = self._owner().partition(" ")
        pid = rest.rpartition(" ")[0].rpartition(" ")[2]
        is_ours = machine == os.uname().nodename and pid.isdigit()
        if is_ours and _process(int(pid)) != f"{machine} {rest}":
            fsio.release_claim(self._claim)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_claimed and self._owner() == _process(os.getpid()):
            fsio.release_claim(self._claim)
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
        self._descriptor = fsio.open_lock_file(self._path)
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


@contextmanager
def lock_vectors(store_dir: str, wait_s: float) -> Iterator[None]:
    """Keep other processes from embedding: they hold texts in memory, even forgotten ones."""
    directory = os.path.join(store_dir, "vectors")
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    with ExitStack() as locks:
        for name in names:
            locks.enter_context(WriterLock(os.path.join(directory, name, "lock"), wait_s))
        yield


def network_filesystem(directory: str) -> str:
    """The kind of network filesystem that a directory is on; empty if it is on none."""
    device = os.stat(directory).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in _read("/proc/self/mountinfo").splitlines():
        mount, _, kind = line.partition(" - ")
        if mount.split()[2] == number:
            name = kind.partition(" ")[0]
            return name if name in _NETWORK else ""
    return ""


def _process(pid: int) -> str:
    """A process of this machine, told from a later one with its number."""
    started = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19:20]
    return f"{os.uname().nodename} process {pid} {''.join(started)}"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
