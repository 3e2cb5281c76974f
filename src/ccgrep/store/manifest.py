"""The contents of objects other than turns: manifests, shards, snapshots and side files.

    snapshot ─▶ up to 256 shards ─▶ rows, one per session ─▶ manifest ─▶ turns
                                                          ─▶ originals ─▶ turns, blobs

A shard holds the sessions whose ids' SHA-256 starts with the shard's name, so that changing a
session rewrites one small shard. A row repeats the session from its manifest, so that listing
sessions and detecting changed files opens no manifests.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ccgrep.hashing import sha256
from ccgrep.model import BadSpot, Entry, ObjectId, Session


class StoredPart(Struct, frozen=True, array_like=True):
    """A part of a file that is stored byte for byte: an object of the kind `original`."""

    id: ObjectId
    size: int


class SourceFile(Struct, frozen=True, omit_defaults=True):
    """A transcript and its watermark.

    `size`, `mtime_ns`, `inode` and `ctime_ns` are those at `read_ns`, when the file was read. Older
    versions did not record `ctime_ns`. A session that is no file of its own has a `container`: the
    database or folder that it is in. `resume` is the offset of the first open turn, `end` the end
    of the last complete record. Each comes with the crc32 of everything before it. `parts` hold the
    file's bytes from its start, and `parts_crc` is their crc32.
    """

    path: str
    root: str
    size: int
    mtime_ns: int
    inode: int
    read_ns: int
    resume: int = 0
    resume_crc: int = 0
    end: int = 0
    end_crc: int = 0
    ctime_ns: int = 0
    is_partial: bool = False  # A copy that holds only the beginning of its session.
    parts: tuple[StoredPart, ...] = ()
    parts_crc: int = 0
    container: str = ""

    @property
    def stored_bytes(self) -> int:
        return sum(part.size for part in self.parts)


class SideFiles(Struct, frozen=True, omit_defaults=True):
    """Files that belong to a transcript, with their bytes: outputs, descriptions of sub-agents.

    If a path occurs twice, the file was rewritten, and the last one is the newest.
    """

    files: tuple[SourceFile, ...] = ()


class Manifest(Struct, frozen=True, omit_defaults=True):
    """A session and its entries, in order.

    `state` is private to the source's reader, which needs it to continue at the watermark.
    `revision` grows with each version of a session's manifest. `stored` and `side_files`
    repeat what the row has, so that stored bytes survive a lost shard.
    """

    session: Session
    entries: tuple[Entry, ...] = ()
    bad: tuple[BadSpot, ...] = ()
    state: bytes = b""
    revision: int = 0
    stored: tuple[SourceFile, ...] = ()
    side_files: ObjectId | None = None


class Provenance(Struct, frozen=True, array_like=True):
    """Where a session of another machine comes from: that machine, and its id there.

    `changed` is when that machine shared this version, in milliseconds of its own clock.
    """

    machine: str
    session: str
    changed: int


class Row(Struct, frozen=True, omit_defaults=True):
    """A session in a snapshot.

    `files[0]` is the transcript that the turns come from; the others are copies of it. `versions`
    are earlier contents of its files, the oldest first, and `side_files` names the object with the
    files that belong to the transcript. `is_superseded` marks the old content of a transcript that
    was rewritten. A session of another machine has `provenance`; its files are not on this one, so
    that `files` are at most copies of its beginning.
    """

    session: Session
    manifest: ObjectId
    files: tuple[SourceFile, ...] = ()
    is_gone: bool = False
    is_superseded: bool = False
    versions: tuple[SourceFile, ...] = ()
    side_files: ObjectId | None = None
    provenance: Provenance | None = None

    @property
    def base_id(self) -> str:
        """The session id in the transcript, without the suffix for sessions that share it."""
        return self.session.id.partition("~")[0]


class Shard(Struct, frozen=True, omit_defaults=True):
    rows: tuple[Row, ...] = ()


class Mark(Struct, frozen=True, omit_defaults=True):
    """Tags and a note of the user: on a session, or with `turn` on a turn wherever it occurs.

    `session` and `number` are the place where the user put the mark.
    """

    session: str
    turn: ObjectId = ObjectId(b"")
    number: int = 0
    tags: tuple[str, ...] = ()
    note: str = ""
    marked: int = 0  # milliseconds since 1970, UTC


class Snapshot(Struct, frozen=True, omit_defaults=True):
    """The state of the store at one moment.

    `hints` are the watermarks of files that only help to recover lost sessions. Those of a history
    have its lines too. `forgotten` holds hashes of ids and paths that must not be ingested again.
    """

    shards: dict[str, ObjectId] = {}
    hints: tuple[SourceFile, ...] = ()
    forgotten: tuple[bytes, ...] = ()
    created: int = 0
    revision: int = 0
    garbage_bytes: int = 0
    must_collect: bool = False  # The bytes of a forgotten session are still in a pack.
    is_archived: bool = False  # The bytes of every transcript that existed are stored.
    marks: tuple[Mark, ...] = ()


NO_SNAPSHOT = ObjectId(bytes(32))
"""The id in HEAD before the first commit."""


def shard_of(session_id: str) -> str:
    """Return the name of a session's shard: two hex digits."""
    return sha256(session_id.encode()).hexdigest()[:2]


def forgotten_key(name: str) -> bytes:
    """Return a hash that recognizes a forgotten id or path without revealing it."""
    return sha256(b"forgotten\0" + name.encode("utf-8", "surrogateescape")).digest()[:16]


def conversation_keys(base_id: str, entries: Sequence[Entry]) -> Iterator[bytes]:
    """Yield hashes that tell a forgotten session from others with the same id, one for each turn.

    The first covers the first turn. Each other one covers all turns before, and how its turn
    begins: it stays the same while that turn grows. Forks have the same keys up to where they part.
    """
    yield forgotten_key(f"{base_id} {entries[0].turn.hex() if entries else ''}")
    before = sha256(b"")
    for previous, entry in pairwise(entries):
        before.update(previous.turn)
        start = entry.uuids[:16].hex() or entry.started or entry.turn.hex()
        yield forgotten_key(f"{base_id} {before.hexdigest()} {start}")
