"""Packs: many objects in one file, written once, never changed.

pack-<hash>.pack            all numbers little-endian
    offset  size  content
    0       8     "CCGPACK1"
    8       …     objects, one behind the other:
                    0   1   kind: 1 turn, 2 manifest, 3 shard, 4 snapshot
                    1   4   size of the content
                    5   4   size of the zstd frame
                    9   32  id
                    41  …   the zstd frame
    end-40  8     "CCGPEND1"
    end-32  32    SHA-256 of everything before; its hex is the file's name

pack-<hash>.idx             made from the pack, and made again when lost
    0       8     "CCGPIDX2"
    8       8     number of objects, n
    16      1024  256 numbers of 4 bytes: how many ids begin with a byte <= i
    1040    32n   ids, sorted
    …       8n    offset of each object in the pack
    end-4   4     CRC-32 of everything before

An index that begins with "CCGPIDX1" ends in 32 bytes, the SHA-256 of everything before: it was ten
times as slow to check, and that is done each time.

The header of each object makes the pack readable by a scan from its beginning.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from zlib import crc32

from ccgrep.errors import CorruptError
from ccgrep.hashing import Digest, load_openssl, sha256
from ccgrep.model import ObjectId
from ccgrep.store import fsio
from ccgrep.store.objects import KINDS, MAX_OBJECT_BYTES, Frame, ObjectKind, unpack_frame

_PACK_MAGIC = b"CCGPACK1"
_PACK_END = b"CCGPEND1"
_INDEX_MAGIC = b"CCGPIDX2"
_OLD_INDEX_MAGIC = b"CCGPIDX1"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_HEADER = struct.Struct("<BII32s")
_FANOUT = struct.Struct("<256I")
_COUNT = struct.Struct("<Q")
_HASH_SIZE = 32
_IDS_AT = 8 + _COUNT.size + _FANOUT.size
_BUFFER_BYTES = 1024 * 1024


class PackWriter:
    """A pack under way. `finish` publishes it with its index."""

    def __init__(self, pack_dir: str, tmp_dir: str) -> None:
        self._pack_dir = pack_dir
        self._tmp_dir = tmp_dir
        self._file = fsio.NewFile(tmp_dir, "pack")
        self._digest: Digest | None = None
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._offsets: dict[ObjectId, int] = {}
        self.size = 0
        self._write(_PACK_MAGIC)

    def __contains__(self, id: ObjectId) -> bool:
        return id in self._offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, frame: Frame) -> None:
        if frame.id in self._offsets:
            return
        if frame.raw_size > MAX_OBJECT_BYTES or len(frame.data) > MAX_OBJECT_BYTES:
            raise CorruptError("an object is larger than 4 GiB and cannot be stored")
        self._offsets[frame.id] = self.size
        kind = KINDS.index(frame.kind) + 1
        self._write(_HEADER.pack(kind, frame.raw_size, len(frame.data), frame.id))
        self._write(frame.data)

    def read(self, id: ObjectId) -> Frame:
        """An object of the pack that is still being written."""
        self._flush()
        offset = self._offsets[id]
        header = self._file.read(offset, _HEADER.size)
        kind, raw_size, size, id_ = _HEADER.unpack(header)
        data = self._file.read(offset + _HEADER.size, size)
        return Frame(ObjectId(id_), KINDS[kind - 1], raw_size, data)

    def finish(self) -> str:
        """Publishes the pack and its index, and gives the pack's hash."""
        self._write(_PACK_END)
        self._flush()
        assert self._digest is not None  # There is at least the mark that it begins with.
        digest = self._digest.digest()
        self._file.write(digest)
        name = digest.hex()
        self._file.publish(pack_path(self._pack_dir, name))
        write_index(self._pack_dir, self._tmp_dir, name, self._offsets)
        return name

    def discard(self) -> None:
        self._file.discard()

    def _write(self, data: bytes) -> None:
        self._buffer.append(data)
        self._buffered += len(data)
        self.size += len(data)
        if self._buffered > _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._buffered = 0
        if self._digest is None:
            self._digest = sha256(data)
        else:
            self._digest.update(data)
        if data:
            self._file.write(data)


def pack_path(pack_dir: str, name: str) -> str:
    return os.path.join(pack_dir, f"pack-{name}.pack")


def index_path(pack_dir: str, name: str) -> str:
    return os.path.join(pack_dir, f"pack-{name}.idx")


def write_index(pack_dir: str, tmp_dir: str, name: str, offsets: dict[ObjectId, int]) -> None:
    fsio.publish(tmp_dir, index_path(pack_dir, name), _index_bytes(offsets), is_hint=True)


def _index_bytes(offsets: dict[ObjectId, int]) -> bytes:
    ids = sorted(offsets)
    firsts = bytes(id[0] for id in ids)
    fanout = [bisect_right(firsts, byte) for byte in range(256)]
    body = bytearray(_INDEX_MAGIC + _COUNT.pack(len(ids)) + _FANOUT.pack(*fanout))
    for id in ids:  # One after the other: there may be millions.
        body += id
    for id in ids:
        body += _COUNT.pack(offsets[id])
    body += crc32(body).to_bytes(4, "little")
    return bytes(body)


class Pack:
    """A published pack; looks an object up by its id.

    Read by `pread`, not mapped: a mapping of a large pack would count as memory, and one
    of a file that is cut short while it is read would end the process.
    """

    def __init__(self, pack_dir: str, name: str) -> None:
        self.name = name
        self.path = pack_path(pack_dir, name)
        self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - `close` does
        self.size = os.fstat(self._file.fileno()).st_size
        if self.size < len(_PACK_MAGIC):
            self._file.close()
            raise CorruptError(f"{self.path} is cut short: run `ccgrep fsck --repair`")
        index = _read_index(index_path(pack_dir, name))
        self.is_index_lost = index is None
        self._index = index or _index_bytes(self.offsets())
        self._count = _COUNT.unpack_from(self._index, 8)[0]
        self._fanout = (0, *_FANOUT.unpack_from(self._index, 16))

    def __len__(self) -> int:
        return int(self._count)

    def ids(self) -> Iterator[ObjectId]:
        for position in range(self._count):
            yield self._id_at(position)

    def find(self, kind: ObjectKind, hex_prefix: str) -> list[ObjectId]:
        """The ids of objects of a kind that begin with `hex_prefix`."""
        position = self._position(bytes.fromhex(hex_prefix + "0" * (len(hex_prefix) % 2)))
        found: list[ObjectId] = []
        while position < self._count:
            id = self._id_at(position)
            if not id.hex().startswith(hex_prefix):
                break
            frame = self.read(id)
            if frame is not None and frame.kind == kind:
                found.append(id)
            position += 1
        return found

    def __contains__(self, id: ObjectId) -> bool:
        position = self._position(id)
        return position < self._count and self._id_at(position) == id

    def read(self, id: ObjectId) -> Frame | None:
        """The object, unchecked; `None` when it is not in this pack."""
        position = self._position(id)
        if position >= self._count or self._id_at(position) != id:
            return None
        at = _IDS_AT + self._count * _HASH_SIZE + position * _COUNT.size
        return self._frame(_COUNT.unpack_from(self._index, at)[0])

    def frame_size(self, id: ObjectId) -> int:
        frame = self.read(id)
        return len(frame.data) + _HEADER.size if frame else 0

    def scan(self) -> Iterator[tuple[int, Frame]]:
        """Every object in the order of the file, for as long as the headers make sense."""
        offset = len(_PACK_MAGIC)
        while offset + _HEADER.size <= self.size:
            if self._pread(offset, len(_PACK_END)) == _PACK_END:
                return
            frame = self._frame(offset)
            yield offset, frame
            offset += _HEADER.size + len(frame.data)

    def offsets(self) -> dict[ObjectId, int]:
        """Where each good object is, by a scan that goes on behind damage.

        A zstd frame begins with four bytes of its own, 41 bytes behind its header.
        """
        found: dict[ObjectId, int] = {}
        offset = len(_PACK_MAGIC)
        while offset + _HEADER.size <= self.size:
            try:
                frame = self._frame(offset)
                unpack_frame(frame)
            except CorruptError:
                at = self._find_magic(offset + _HEADER.size + 1)
                if at < 0:
                    break
                offset = at - _HEADER.size
            else:
                found[frame.id] = offset
                offset += _HEADER.size + len(frame.data)
        return found

    def is_intact(self) -> bool:
        """Whether the file is what its name says."""
        load_openssl()
        digest = sha256(b"")
        end = self.size - _HASH_SIZE
        for offset in range(0, end, _BUFFER_BYTES):
            digest.update(self._pread(offset, min(_BUFFER_BYTES, end - offset)))
        return digest.hexdigest() == self.name

    def close(self) -> None:
        self._file.close()

    def _pread(self, offset: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, offset)

    def _find_magic(self, offset: int) -> int:
        """Where the next zstd frame may begin, at or behind `offset`; -1 for nowhere."""
        while offset < self.size:
            at = self._pread(offset, _BUFFER_BYTES).find(_ZSTD_MAGIC)
            if at >= 0:
                return offset + at
            offset += _BUFFER_BYTES - len(_ZSTD_MAGIC) + 1
        return -1

    def _frame(self, offset: int) -> Frame:
        begin = offset + _HEADER.size
        if begin > self.size:
            raise self._corrupt(offset)
        try:
            kind, raw_size, size, id = _HEADER.unpack(self._pread(offset, _HEADER.size))
        except struct.error:
            raise self._corrupt(offset) from None
        if not 1 <= kind <= len(KINDS) or begin + size > self.size:
            raise self._corrupt(offset)
        kind_name: ObjectKind = KINDS[kind - 1]
        return Frame(ObjectId(id), kind_name, raw_size, self._pread(begin, size))

    def _corrupt(self, offset: int) -> CorruptError:
        return CorruptError(f"{self.path} is damaged at byte {offset}: run `ccgrep fsck --repair`")

    def _id_at(self, position: int) -> ObjectId:
        at = _IDS_AT + position * _HASH_SIZE
        return ObjectId(self._index[at : at + _HASH_SIZE])

    def _position(self, prefix: bytes) -> int:
        """Where `prefix` would stand among the sorted ids."""
        low, high = self._fanout[prefix[0] : prefix[0] + 2]
        return bisect_left(range(self._count), prefix, low, high, key=self._id_at)


def _read_index(path: str) -> bytes | None:
    """An index whose checksum holds; `None` for one that is lost or damaged."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if len(data) < _IDS_AT + _HASH_SIZE:
        return None
    size = _checked_size(data)
    count = _COUNT.unpack_from(data, 8)[0]
    is_whole = size == _IDS_AT + count * (_HASH_SIZE + _COUNT.size)
    return data if is_whole and max(_FANOUT.unpack_from(data, 16)) <= count else None


def _checked_size(data: bytes) -> int:
    """How much of an index stands before its checksum; nothing if that is wrong."""
    view = memoryview(data)
    if data.startswith(_INDEX_MAGIC):
        body, checksum = view[:-4], data[-4:]
        is_right = crc32(body).to_bytes(4, "little") == checksum
    else:
        body, checksum = view[:-_HASH_SIZE], data[-_HASH_SIZE:]
        is_right = data.startswith(_OLD_INDEX_MAGIC) and sha256(body).digest() == checksum
    return len(body) if is_right else 0
