"""What the objects besides turns hold: manifests, shards and snapshots.

    snapshot ─▶ up to 256 shards ─▶ rows, one a session ─▶ manifest ─▶ turns

A shard holds the sessions whose id's SHA-256 begins with the shard's name, so that a
change of one session rewrites one shard of many. A row repeats the session from its
manifest, so that listing sessions and looking for changed files opens no manifest.
"""

from msgspec import Struct

from ccgrep.hashing import sha256
from ccgrep.model import BadSpot, Entry, ObjectId, Session


class SourceFile(Struct, frozen=True, omit_defaults=True):
    """A source file and how far it was read: the watermark.

    `size`, `mtime_ns` and `inode` are the file's when it was read, at `read_ns`. `resume`
    is where the first open turn begins and `end` where the last whole record ended,
    each with the crc32 of everything before it.
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
    is_partial: bool = False  # a copy that holds only the beginning of its session


class Manifest(Struct, frozen=True, omit_defaults=True):
    """A session and its turns, in order.

    `state` is what the reader needs to go on at the watermark; only readers look inside.
    `revision` grows with each version of a session's manifest.
    """

    session: Session
    entries: tuple[Entry, ...] = ()
    bad: tuple[BadSpot, ...] = ()
    state: bytes = b""
    revision: int = 0


class Row(Struct, frozen=True, omit_defaults=True):
    """A session in a snapshot.

    `files[0]` is the file that the turns come from; others are copies of it. The mark
    `is_superseded` says that the file was rewritten and this is what stood there before.
    """

    session: Session
    manifest: ObjectId
    files: tuple[SourceFile, ...] = ()
    is_gone: bool = False
    is_superseded: bool = False

    @property
    def base_id(self) -> str:
        """The id that the source file gave, without the number of a namesake."""
        return self.session.id.partition("~")[0]


class Shard(Struct, frozen=True, omit_defaults=True):
    rows: tuple[Row, ...] = ()


class Snapshot(Struct, frozen=True, omit_defaults=True):
    """The set of manifests at one moment, and what belongs to no session.

    `hints` are the watermarks of files that only recover lost sessions. `forgotten` has
    hashes of ids and paths that are not to be taken in again.
    """

    shards: dict[str, ObjectId] = {}
    hints: tuple[SourceFile, ...] = ()
    forgotten: tuple[bytes, ...] = ()
    created: int = 0
    revision: int = 0
    garbage_bytes: int = 0
    must_collect: bool = False  # a session was forgotten, and its bytes are still there


NO_SNAPSHOT = ObjectId(bytes(32))
"""The id in HEAD before the first commit."""


def shard_of(session_id: str) -> str:
    """The name of a session's shard: two hex digits."""
    return sha256(session_id.encode()).hexdigest()[:2]


def forgotten_key(name: str) -> bytes:
    """What is remembered of a forgotten id or path: enough to know it, not to tell it."""
    return sha256(b"forgotten\0" + name.encode("utf-8", "surrogateescape")).digest()[:16]


def conversation_key(base_id: str, first_turn: ObjectId | None) -> bytes:
    """Knows a forgotten session from a namesake that is not forgotten."""
    return forgotten_key(f"{base_id} {first_turn.hex() if first_turn else ''}")
