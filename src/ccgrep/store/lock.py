"""The writer lock: an flock on the store's `lock` file, so that one process writes at a time.

The kernel releases it when its holder dies, so there are no stale locks. The owner's name in the
file only serves messages.

On a network filesystem, flock may exclude only processes of the same machine, or none. There the
writer also holds the directory `lock.d`, whose file `owner` names machine, process and start time.
ccgrep deletes the claim of a dead process of this machine, and reports a claim of another machine.
Only Linux tells the type of a filesystem (`/proc`); elsewhere flock must do, and `Commit` detects
writers that it does not exclude.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from ccgrep.errors import LockedError, WriteError
from ccgrep.store import fsio

_POLL_S = 0.02
_ANNOUNCE_AFTER_S = 0.3
_NETWORK_FILESYSTEMS = frozenset(
    "9p afs ceph cifs fuse.glusterfs fuse.sshfs lustre ncpfs nfs nfs4 smb3 smbfs".split()
)

Warn = Callable[[str], None]


class WriterLock:
    """Context manager that holds the lock. It waits up to `wait_s` for another writer.

    `warn` gets one line if that takes longer than a moment.
    """

    def __init__(self, path: str, wait_s: float, warn: Warn = lambda _: None) -> None:
        self._path = path
        self._claim_path = f"{path}.d"
        self._wait_s = wait_s
        self._warn = warn
        self._announce_at: float | None = None  # None: it was announced
        self._descriptor = -1
        self._is_claimed = False

    def __enter__(self) -> "WriterLock":
        now = time.monotonic()
        deadline, self._announce_at = now + self._wait_s, now + _ANNOUNCE_AFTER_S
        self._descriptor = fsio.open_lock_file(self._path)
        while not self._try_lock() or self._reopen_if_moved():
            owner = os.pread(self._descriptor, 200, 0).decode("utf-8", "replace")
            self._pause(deadline, owner)
        if network_filesystem(os.path.dirname(self._path)):
            self._is_claimed = True
            while not fsio.claim(self._claim_path, _process_identity(os.getpid())):
                self._drop_stale_claim()
                self._pause(deadline, self._claim_owner())
        fsio.write_owner(self._descriptor, f"process {os.getpid()}\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_claimed and self._claim_owner() == _process_identity(os.getpid()):
            fsio.release_claim(self._claim_path)
        os.close(self._descriptor)

    def _pause(self, deadline: float, owner: str) -> None:
        """Wait before the next try. Raise LockedError after the deadline."""
        now = time.monotonic()
        if now < deadline:
            if self._announce_at is not None and now >= self._announce_at:
                self._announce_at = None
                self._warn(f"waiting for another ccgrep ({owner.strip() or 'unknown'})")
            time.sleep(_POLL_S)
            return
        os.close(self._descriptor)
        hint = f", or delete {self._claim_path} if its machine is gone" if self._is_claimed else ""
        raise LockedError(
            f"another ccgrep is writing to the store ({owner.strip() or 'unknown'}): "
            f"wait until it is done, or stop it{hint}"
        )

    def _try_lock(self) -> bool:
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

    def _reopen_if_moved(self) -> bool:
        """Open the lock file again if the store was replaced, and return whether it was."""
        try:
            current = os.stat(self._path)
        except FileNotFoundError:
            current = None
        if current is not None and current.st_ino == os.fstat(self._descriptor).st_ino:
            return False
        os.close(self._descriptor)
        self._descriptor = fsio.open_lock_file(self._path)
        return True

    def _claim_owner(self) -> str:
        return _read_text(os.path.join(self._claim_path, "owner"))

    def _drop_stale_claim(self) -> None:
        """Delete the claim of a dead process. The flock allows one process at a time to do so."""
        owner = self._claim_owner()
        machine, _, rest = owner.partition(" ")
        pid = rest.rpartition(" ")[0].rpartition(" ")[2]
        if machine != os.uname().nodename or not pid.isdigit():
            return
        if not fsio.is_running(int(pid)) or _process_identity(int(pid)) != owner:
            fsio.release_claim(self._claim_path)


@contextmanager
def lock_vectors(store_dir: str, wait_s: float, warn: Warn = lambda _: None) -> Iterator[None]:
    """Keep other processes from embedding: they hold texts in memory, even forgotten ones."""
    directory = os.path.join(store_dir, "vectors")
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    with ExitStack() as locks:
        for name in names:
            locks.enter_context(WriterLock(os.path.join(directory, name, "lock"), wait_s, warn))
        yield


def network_filesystem(directory: str) -> str:
    """Return the type of the network filesystem that holds a directory, or an empty string."""
    device = os.stat(directory).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in _read_text("/proc/self/mountinfo").splitlines():
        mount, _, filesystem = line.partition(" - ")
        if mount.split()[2] == number:
            kind = filesystem.partition(" ")[0]
            return kind if kind in _NETWORK_FILESYSTEMS else ""
    return ""


def _process_identity(pid: int) -> str:
    """Return machine, number and, on Linux, start time: a later process may reuse the number."""
    started = _read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[19:20]
    return f"{os.uname().nodename} process {pid} {''.join(started)}"


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
