"""All writing: the only module that creates, writes, syncs, renames or deletes files.

`publish` writes to `tmp/` on the same filesystem, checks the length, syncs, renames the file to
its final name and syncs the directory. A file therefore exists completely or not at all.
Directories have mode 0700 and files 0600, whatever the umask.
Each operation calls `hook` first, so that tests can inject faults.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from ccgrep.errors import WriteError
from ccgrep.lazy_re import compile_pattern

hook: Callable[[str, str], None] | None = None
"""Called with the operation's name and its path before each operation."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_DIR_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EROFS, errno.EACCES)
"""Errors of filesystems that cannot sync a directory, and of directories that cannot be read."""

_RMTREE_TRIES = 20
_RMTREE_PAUSE_S = 0.05
_DAY_S = 86_400


@contextmanager
def _operation(name: str, path: str, size: int = 0) -> Iterator[None]:
    try:
        if hook is not None:
            hook(name, path)
        yield
    except OSError as error:
        raise to_write_error(error, path, size) from error


def to_write_error(error: OSError, path: str, size: int = 0) -> WriteError:
    """Return a WriteError that says what to do; `size` is the number of bytes to write."""
    if error.errno in NO_SPACE:
        needs = f", needs about {_in_kb(size)}" if size else ""
        free = _free_bytes(path) if error.errno == errno.ENOSPC else None
        has = f", has {_in_kb(free)}" if free is not None else ""
        return WriteError(
            f"no space left to write {path} ({error.strerror}{needs}{has}): "
            "free some space and run the command again; nothing that was stored is lost"
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return WriteError(
            f"cannot write {path} ({error.strerror}): "
            "make its directory writable, or choose another (CCGREP_DIR for the store)"
        )
    return WriteError(f"cannot write {path} ({error.strerror}): check the disk, then run again")


def parse_write_error(message: str, path: str) -> WriteError:
    """Return a WriteError for the message of a library that writes files itself."""
    code = compile_pattern(r"(?:os error |code: )(\d+)").search(message)
    if code:
        return to_write_error(OSError(int(code[1]), os.strerror(int(code[1]))), path)
    return WriteError(
        f"cannot write {path} ({message}): check the disk and the space on it, then run again"
    )


def _in_kb(size: int) -> str:
    return f"{-(-size // 1024):,} KB"


def _free_bytes(path: str) -> int | None:
    try:
        info = os.statvfs(os.path.dirname(path))
    except OSError:
        return None
    return info.f_bavail * info.f_frsize


def make_dir(path: str) -> bool:
    """Create a private directory and its parents, and return whether it was missing."""
    if os.path.isdir(path):
        return False
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        make_dir(parent)
    with _operation("mkdir", path):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            return False
        os.chmod(path, 0o700)
    sync_dir(parent or ".")  # Without its name, files synced inside it would be lost.
    return True


def make_private(path: str) -> bool:
    """Hide a directory from other users, and return whether they could access it."""
    was_exposed = bool(os.stat(path).st_mode & 0o077)
    if was_exposed:
        with _operation("chmod", path):
            os.chmod(path, 0o700)
    return was_exposed


class NewFile:
    """An unfinished file in `tmp/`. Nobody else sees it before `publish`."""

    def __init__(self, tmp_dir: str, name: str) -> None:
        self.path = os.path.join(tmp_dir, f"{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}")
        self.size = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with _operation("create", self.path):
            self._descriptor = os.open(self.path, flags, 0o600)
        os.fchmod(self._descriptor, 0o600)

    def write(self, data: bytes) -> None:
        with _operation("write", self.path, len(data)):
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        self.size += len(data)

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset)

    def publish(self, path: str, is_hint: bool = False) -> None:
        """Make the file durable under its final name. A power cut may lose a hint."""
        with _operation("fsync", self.path):
            if os.fstat(self._descriptor).st_size != self.size:
                raise OSError(errno.EIO, "short write")
            if not is_hint:
                _sync(self._descriptor)
        with _operation("rename", path):
            os.rename(self.path, path)
        os.close(self._descriptor)
        self._descriptor = -1
        if not is_hint:
            sync_dir(os.path.dirname(path))

    def discard(self) -> None:
        """Delete the file unless it is published. Never fails: it runs while handling errors."""
        if self._descriptor < 0:
            return
        with suppress(OSError):
            os.close(self._descriptor)
            os.unlink(self.path)


def is_in_use(path: str) -> bool:
    """Return whether a running process owns a file in `tmp/`.

    Such a writer exists beside ours only where locks do not work. A file older than a day belongs
    to an earlier process with the same number.
    """
    pid = os.path.basename(path).split(".")[-2:][0]
    try:
        age_s = time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return False
    return pid.isdigit() and abs(age_s) < _DAY_S and is_running(int(pid))


def is_running(pid: int) -> bool:
    """Return whether this machine has a process with that number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def publish(tmp_dir: str, path: str, data: bytes, is_hint: bool = False) -> None:
    """Write or replace a whole file."""
    file = NewFile(tmp_dir, os.path.basename(path))
    try:
        file.write(data)
        file.publish(path, is_hint)
    except BaseException:
        file.discard()
        raise


def sync_dir(path: str) -> None:
    with _operation("fsync-dir", path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _sync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _NO_DIR_SYNC:
                raise


def _sync(descriptor: int) -> None:
    """Make a file or directory survive a power cut.

    On macOS, `fsync` stops at the drive's cache. `F_FULLFSYNC` flushes that too, but not every
    filesystem supports it.
    """
    if hasattr(fcntl, "F_FULLFSYNC"):
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def remove(path: str) -> None:
    """Delete a file, if it exists."""
    with _operation("unlink", path), suppress(FileNotFoundError):
        os.unlink(path)


def rename(path: str, new_path: str) -> None:
    with _operation("rename", new_path):
        os.rename(path, new_path)
    sync_dir(os.path.dirname(new_path))


def remove_tree(path: str) -> None:
    """Delete a directory with everything below it, without following symlinks."""
    import shutil  # noqa: PLC0415 - slow to import, and rarely needed

    with _operation("rmtree", path):
        for tries_left in reversed(range(_RMTREE_TRIES)):
            try:
                shutil.rmtree(path)
            except OSError as error:
                # Threads of an abandoned tantivy writer may still create files in it.
                if error.errno != errno.ENOTEMPTY or not tries_left:
                    raise
                time.sleep(_RMTREE_PAUSE_S)
            else:
                return


@contextmanager
def temporary_dir() -> Iterator[str]:
    """Yield a directory outside the store, deleted afterwards."""
    import tempfile  # noqa: PLC0415 - rarely needed

    path = tempfile.mkdtemp(prefix="ccgrep-")
    try:
        yield path
    finally:
        remove_tree(path)


@contextmanager
def linked_dir(path: str, names: Iterable[str]) -> Iterator[str]:
    """Yield a temporary, writable directory with symlinks to files of a read-only one."""
    with temporary_dir() as links:
        for name in names:
            os.symlink(os.path.join(path, name), os.path.join(links, name))
        yield links


def open_lock_file(path: str) -> int:
    """Return a descriptor of the lock file, created if it is missing."""
    with _operation("create", path):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o600)


def claim(path: str, owner: str) -> bool:
    """Create the directory `path` with a file `owner`, and return whether it was missing.

    Of several processes, one succeeds: renaming a directory onto a non-empty one fails.
    """
    new = _unique_sibling(path)
    with _operation("mkdir", path):
        os.mkdir(new, 0o700)
        try:
            with open(os.path.join(new, "owner"), "w", encoding="utf-8") as file:
                file.write(owner)
            os.rename(new, path)
        except OSError as error:
            _delete_claim(new)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
    return True


def release_claim(path: str) -> None:
    """Delete a claim. A rename comes first, so that the path is free at once."""
    old = _unique_sibling(path)
    with _operation("rmdir", path):
        try:
            os.rename(path, old)
        except FileNotFoundError:
            return
        _delete_claim(old)


def _unique_sibling(path: str) -> str:
    return f"{path}.{os.getpid()}.{os.urandom(4).hex()}"


def _delete_claim(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(path, "owner"))
    with suppress(FileNotFoundError):
        os.rmdir(path)


def write_owner(descriptor: int, text: str) -> None:
    """Write the holder of the lock into its file. People read it, so it may fail unsynced."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
