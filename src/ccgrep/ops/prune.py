"""The prune verb: delete transcripts of the clients that the store can restore byte for byte.

A transcript is deleted only if the store, read back at that moment, gives a file of the same size
and SHA-256. It must not have changed meanwhile. No other process may have it open, because what an
agent appends to a deleted file is lost; only Linux tells that. Only the agents' own directories are
pruned, never those of a backup that `index --root` read.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from glob import iglob
from hashlib import sha256
from itertools import islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.config import Config
from ccgrep.errors import StoreError, WriteError
from ccgrep.sources.files import open_side_file
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import fsio
from ccgrep.store.lifecycle import open_store, read_consistently
from ccgrep.store.manifest import SourceFile
from ccgrep.store.originals import iterate_parts
from ccgrep.store.pruned import PrunedFile, read_pruned, write_pruned
from ccgrep.store.store import Store

_AGENTS = ("claude_code", "codex")
_BLOCK = 1024 * 1024
_GROUP = 100
PruneState = Literal[
    "deletable", "deleted", "not stored", "changed", "open", "unreadable", "not deleted"
]


class Candidate(Struct, frozen=True):
    """A transcript that is old enough, and whether the store can give it back."""

    path: str
    session: str
    size: int
    state: PruneState
    sha256: str = ""
    stamp: tuple[int, int, int, int] = (0, 0, 0, 0)  # device, inode, size and mtime
    is_linked: bool = False  # has another name, so that deleting this one frees nothing

    @property
    def freed(self) -> int:
        """How many bytes it frees to delete the file."""
        return 0 if self.is_linked else self.size


def find_candidates(
    config: Config, before_ms: int, on_step: OnStep = ignore_steps
) -> list[Candidate]:
    """Return the transcripts that did not change since `before_ms`, each one verified."""

    def find(store: Store) -> list[Candidate]:
        files = list(_old_files(config, store, before_ms))
        counted = count_steps(files, "transcripts verified", len(files), on_step)
        opened = _open_files()
        found = [_verify(store, session, file, opened) for session, file in counted]
        return sorted(found, key=lambda one: one.path)

    return read_consistently(config.store_dir, find)


def prune(
    config: Config,
    candidates: Iterable[Candidate],
    now_ms: int,
    wait_s: float = 10.0,
    warn: Callable[[str], None] = lambda _: None,
    on_step: OnStep = ignore_steps,
) -> list[Candidate]:
    """Delete the deletable transcripts, each verified once more just before."""
    chosen = [one for one in candidates if one.state == "deletable"]
    store = open_store(config.store_dir)
    done: list[Candidate] = []
    with store.lock(wait_s, warn):
        listed = read_pruned(store)
        files = {(row.session.id, file.path): file for row in store.rows() for file in row.files}
        counted = count_steps(chosen, "transcripts deleted", len(chosen), on_step)
        while group := list(islice(counted, _GROUP)):
            # The list comes first, so that nothing is deleted silently. A group is small, so that
            # after a crash the list has few transcripts that are still there.
            entries = [PrunedFile(now_ms, o.session, o.size, o.sha256, o.path) for o in group]
            write_pruned(store, [*listed, *entries])
            opened = _open_files()
            tried = [
                _delete(store, one, files.get((one.session, one.path)), opened) for one in group
            ]
            pairs = zip(entries, tried, strict=True)
            kept = [entry for entry, one in pairs if one.state == "deleted"]
            listed += kept
            done += tried
            if len(kept) < len(entries):
                write_pruned(store, listed)
    return done


def list_pruned(config: Config) -> list[PrunedFile]:
    """Return the transcripts that were deleted, the oldest first."""
    return read_consistently(config.store_dir, read_pruned)


def _old_files(config: Config, store: Store, before_ms: int) -> Iterator[tuple[str, SourceFile]]:
    """Yield the transcripts below the agents' directories that are old enough."""
    roots = {os.path.realpath(root.path) for root in config.roots}
    for row in store.rows():
        if row.session.source not in _AGENTS:
            continue
        for file in row.files:
            if os.path.realpath(file.root) not in roots:
                continue
            try:
                status = os.lstat(file.path)
            except OSError:
                continue
            if status.st_mtime_ns < before_ms * 1_000_000:
                yield row.session.id, file


def _open_files() -> set[tuple[int, int]]:
    """Return device and inode of the files that other processes of the user have open."""
    found: set[tuple[int, int]] = set()
    own = f"/proc/{os.getpid()}/"
    for path in iglob("/proc/[0-9]*/fd/*"):
        if path.startswith(own):
            continue
        with suppress(OSError):  # closed meanwhile, or of another user
            status = os.stat(path)
            found.add((status.st_dev, status.st_ino))
    return found


def _verify(
    store: Store, session: str, file: SourceFile, open_files: set[tuple[int, int]]
) -> Candidate:
    """Compare a transcript with what the store would restore."""
    opened = open_side_file(file.path)
    if opened is None:
        return Candidate(file.path, session, 0, "unreadable")
    with opened:
        before = _stamp(os.fstat(opened.fileno()))
        digest = sha256()
        while block := opened.read(_BLOCK):
            digest.update(block)
        status = os.fstat(opened.fileno())
        after = _stamp(status)
    state: PruneState = "deletable"
    if after[:2] in open_files:
        state = "open"
    elif before != after:
        state = "changed"
    elif not _restores(store, file, after[2], digest.digest()):
        state = "not stored"
    is_linked = status.st_nlink > 1
    return Candidate(file.path, session, after[2], state, digest.hexdigest(), after, is_linked)


def _restores(store: Store, file: SourceFile, size: int, digest: bytes) -> bool:
    """Return whether the stored bytes of a file have this size and SHA-256."""
    if file.stored_bytes != size:
        return False
    stored = sha256()
    try:
        for part in iterate_parts(file.parts, store.read):
            stored.update(part)
    except StoreError:
        return False
    return stored.digest() == digest


def _delete(
    store: Store, one: Candidate, file: SourceFile | None, open_files: set[tuple[int, int]]
) -> Candidate:
    if file is None:
        return Candidate(one.path, one.session, one.size, "not stored")
    now = _verify(store, one.session, file, open_files)
    if now.state != "deletable" or (now.sha256, now.stamp) != (one.sha256, one.stamp):
        state: PruneState = "changed" if now.state == "deletable" else now.state
        return Candidate(one.path, one.session, one.size, state)
    if not os.path.exists(one.path) or _stamp(os.lstat(one.path)) != now.stamp:
        return Candidate(one.path, one.session, one.size, "changed")
    try:
        fsio.remove(one.path)
    except WriteError:
        return Candidate(one.path, one.session, one.size, "not deleted")
    return replace(now, state="deleted")


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
