"""The only module that writes, renames, syncs or deletes.

Everything is published the same way: written to `tmp/` on the same filesystem, its length
checked, synced, renamed to its place, and the directory synced. So a file is there whole
or not at all. Directories are 0700 and files 0600, whatever the umask.
Each operation passes `hook` first: tests put a fault there.
"""

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ccgrep.errors import WriteError

hook: Callable[[str, str], None] | None = None
"""Called with the operation's name and its path before each operation."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EROFS, errno.EACCES)
"""What is answered where a directory cannot be synced, or may be written but not read."""

_TRIES = 20
_PAUSE_S = 0.05
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
    """What to do about an error; `size` is how many bytes were to be written, if that is known."""
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


def parse_write_error(reason: str, path: str) -> WriteError:
    """The same for what a library says that writes on its own."""
    import re  # noqa: PLC0415 - only if it fails

    found = re.search(r"(?:os error |code: )(\d+)", reason)
    if found:
        code = int(found[1])
        return to_write_error(OSError(code, os.strerror(code)), path)
    return WriteError(
        f"cannot write {path} ({reason}): check the disk and the space on it, then run again"
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
    """A private directory, and those above it; one that exists is left as it is. Whether it
    was made."""
    if os.path.isdir(path):
        return False
    above = os.path.dirname(path)
    if above and not os.path.isdir(above):
        make_dir(above)
    with _operation("mkdir", path):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            return False
        os.chmod(path, 0o700)
    sync_dir(above or ".")  # What is synced below it would be lost with its name.
    return True


def make_private(path: str) -> None:
    with _operation("chmod", path):
        os.chmod(path, 0o700)


class NewFile:
    """A file under way in `tmp/`; it exists for others only after `publish`."""

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
        """Makes the file durable under its final name; a hint may be lost by a power cut."""
        with _operation("fsync", self.path):
            if os.fstat(self._descriptor).st_size != self.size:
                raise OSError(errno.EIO, "short write")
            if not is_hint:
                os.fsync(self._descriptor)
        with _operation("rename", path):
            os.rename(self.path, path)
        os.close(self._descriptor)
        self._descriptor = -1
        if not is_hint:
            sync_dir(os.path.dirname(path))

    def discard(self) -> None:
        """Gives up what is not published; never fails, since it runs while something fails."""
        if self._descriptor < 0:
            return
        try:
            os.close(self._descriptor)
            os.unlink(self.path)
        except OSError:
            return


def is_in_use(path: str) -> bool:
    """Whether a file in `tmp/` is of a process that runs, whom no lock may have kept out. After a
    day it is taken for one of an earlier process with that number."""
    number = os.path.basename(path).split(".")[-2:][0]
    try:
        age_s = time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return False
    return number.isdigit() and abs(age_s) < _DAY_S and os.path.exists(f"/proc/{int(number)}")


def publish(tmp_dir: str, path: str, data: bytes, is_hint: bool = False) -> None:
    """Writes a whole file, replacing what stood there."""
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
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _NO_SYNC:
                raise


def remove(path: str) -> None:
    """Deletes a file; one that is gone already is fine."""
    with _operation("unlink", path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


def rename_dir(path: str, new_path: str) -> None:
    with _operation("rename", new_path):
        os.rename(path, new_path)
    sync_dir(os.path.dirname(new_path))


def remove_tree(path: str) -> None:
    """Deletes a directory with everything below it, links not followed."""
    import shutil  # noqa: PLC0415 - slow to import, and rarely needed

    with _operation("rmtree", path):
        for left in reversed(range(_TRIES)):
            try:
                shutil.rmtree(path)
            except OSError as error:
                # Threads of a tantivy writer that was given up may still be at work in there.
                if error.errno != errno.ENOTEMPTY or not left:
                    raise
                time.sleep(_PAUSE_S)
            else:
                return


@contextmanager
def temporary_dir() -> Iterator[str]:
    """A directory outside the store, for one search."""
    import tempfile  # noqa: PLC0415 - rarely needed

    path = tempfile.mkdtemp(prefix="ccgrep-")
    try:
        yield path
    finally:
        remove_tree(path)


@contextmanager
def linked_dir(path: str, names: Iterable[str]) -> Iterator[str]:
    """A temporary directory of links to files of a directory that cannot be written."""
    with temporary_dir() as links:
        for name in names:
            os.symlink(os.path.join(path, name), os.path.join(links, name))
        yield links


def open_lock_file(path: str) -> int:
    """A descriptor of the lock file, made when it is not there."""
    with _operation("create", path):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o600)


def claim(path: str, owner: str) -> bool:
    """Makes a directory with a file `owner`; says whether it was not there. One of many gets it, by
    a rename that fails where a directory with something in it stands."""
    made = _beside(path)
    with _operation("mkdir", path):
        os.mkdir(made, 0o700)
        try:
            with open(os.path.join(made, "owner"), "w", encoding="utf-8") as file:
                file.write(owner)
            os.rename(made, path)
        except OSError as error:
            _drop_claim(made)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
    return True


def release_claim(path: str) -> None:
    """Removes it by one rename: the next one may claim it before the old one is deleted."""
    aside = _beside(path)
    with _operation("rmdir", path):
        try:
            os.rename(path, aside)
        except FileNotFoundError:
            return
        _drop_claim(aside)


def _beside(path: str) -> str:
    return f"{path}.{os.getpid()}.{os.urandom(4).hex()}"


def _drop_claim(path: str) -> None:
    for drop, name in ((os.unlink, os.path.join(path, "owner")), (os.rmdir, path)):
        try:
            drop(name)
        except FileNotFoundError:
            continue


def write_owner(descriptor: int, text: str) -> None:
    """Says who holds the lock; a message for people, so it may fail and is not synced."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
    except OSError:
        return
