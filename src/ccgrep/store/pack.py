"""Packs: files that hold many objects, written once and never changed.

pack-<hash>.pack            all numbers are little-endian
    offset  size  content
    0       8     "CCGPACK1"
    8       …     objects, one after the other:
                    0   1   kind: 1 turn, 2 manifest, 3 shard, 4 snapshot, 5 original,
                            6 side files, 7 blob
                    1   4   size of the content
                    5   4   size of the zstd frame
                    9   32  id
                    41  …   the zstd frame
    end-40  8     "CCGPEND1"
    end-32  32    SHA-256 of everything before; its hex digits are the file's name

pack-<hash>.idx             derived from the pack, and rebuilt when lost
    0       8     "CCGPIDX2"
    8       8     number of objects, n
    16      1024  256 numbers of 4 bytes: how many ids start with a byte <= i
    1040    32n   ids, sorted
    …       8n    offset of each object in the pack
    end-4   4     CRC-32 of everything before

An index that starts with "CCGPIDX1" ends in the SHA-256 of everything before instead. Verifying it
takes ten times as long, and every open verifies.

The header of each object makes a pack readable by a scan, without its index.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import takewhile
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
    """An unfinished pack. `finish` publishes it with its index."""

    def __init__(self, pack_dir: str, tmp_dir: str) -> None:
        self._pack_dir = pack_dir
        self._tmp_dir = tmp_dir
        self._file = fsio.NewFile(tmp_dir, "pack")
        self._digest: Digest | None = None
        self._buffer = bytearray()
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
        """Return an object of the unfinished pack."""
        self._flush()
        offset = self._offsets[id]
        header = self._file.read(offset, _HEADER.size)
        kind, raw_size, size, _ = _HEADER.unpack(header)
        data = self._file.read(offset + _HEADER.size, size)
        return Frame(id, KINDS[kind - 1], raw_size, data)

    def finish(self) -> str:
        """Publish the pack and its index, and return the pack's hash."""
        self._write(_PACK_END)
        self._flush()
        assert self._digest is not None  # At least the magic bytes were flushed.
        digest = self._digest.digest()
        self._file.write(digest)
        name = digest.hex()
        self._file.publish(pack_path(self._pack_dir, name))
        write_index(self._pack_dir, self._tmp_dir, name, self._offsets)
        return name

    def discard(self) -> None:
        self._file.discard()

    def _write(self, data: bytes) -> None:
        self._buffer += data
        self.size += len(data)
        if len(self._buffer) > _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        data = bytes(self._buffer)
        self._buffer.clear()
        if self._digest is None:
            self._digest = sha256(data)
        else:
            self._digest.update(data)
        if data:
            self._file.write(data)


def verify_pack_bytes(content: bytes) -> str | None:
    """Return the hash of a whole pack, or None if it is damaged."""
    body, digest = content[:-_HASH_SIZE], content[-_HASH_SIZE:]
    is_framed = body.startswith(_PACK_MAGIC) and body.endswith(_PACK_END)
    return digest.hex() if is_framed and sha256(body).digest() == digest else None


def is_newer_pack(content: bytes) -> bool:
    """Return whether a pack has a later format than this version reads."""
    title = _PACK_MAGIC[:-1]
    return content.startswith(title) and content[len(title) : len(_PACK_MAGIC)] > _PACK_MAGIC[-1:]


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
    for id in ids:  # A join would hold millions of small objects at once.
        body += id
    for id in ids:
        body += _COUNT.pack(offsets[id])
    body += crc32(body).to_bytes(4, "little")
    return bytes(body)


class Pack:
    """A published pack, which finds objects by their ids.

    It is read with `pread`. A mapping would count as memory of the process, and would crash it if
    somebody truncated the file.
    """

    def __init__(self, pack_dir: str, name: str) -> None:
        self.name = name
        self.path = pack_path(pack_dir, name)
        self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - see `close`
        self.size = os.fstat(self._file.fileno()).st_size
        if self.size < len(_PACK_MAGIC):
            self._file.close()
            raise CorruptError(f"{self.path} is truncated: run `ccgrep fsck --repair`")
        index = _read_index(index_path(pack_dir, name))
        self.is_index_lost = index is None
        self._index = index or _index_bytes(self.offsets())
        self._count = _COUNT.unpack_from(self._index, 8)[0]
        self._fanout = (0, *_FANOUT.unpack_from(self._index, 16))

    def __len__(self) -> int:
        return int(self._count)

    def ids(self) -> Iterator[ObjectId]:
        return map(self._id_at, range(self._count))

    def find(self, kind: ObjectKind, hex_prefix: str) -> list[ObjectId]:
        """Return the ids of objects of a kind that start with `hex_prefix`."""
        position = self._position(bytes.fromhex(hex_prefix + "0" * (len(hex_prefix) % 2)))
        later = map(self._id_at, range(position, self._count))
        ids = takewhile(lambda other: other.hex().startswith(hex_prefix), later)
        return [id for id in ids if self._kind(id) == kind]

    def __contains__(self, id: ObjectId) -> bool:
        position = self._position(id)
        return position < self._count and self._id_at(position) == id

    def read(self, id: ObjectId) -> Frame | None:
        """Return an object, unverified, or None if this pack does not hold it."""
        offset = self._offset(id)
        return self._frame(offset) if offset is not None else None

    def _kind(self, id: ObjectId) -> ObjectKind | None:
        """Return the kind of an object without reading its content."""
        offset = self._offset(id)
        return self._header(offset)[0] if offset is not None else None

    def _offset(self, id: ObjectId) -> int | None:
        position = self._position(id)
        if position >= self._count or self._id_at(position) != id:
            return None
        at = _IDS_AT + self._count * _HASH_SIZE + position * _COUNT.size
        return int(_COUNT.unpack_from(self._index, at)[0])

    def frame_size(self, id: ObjectId) -> int:
        frame = self.read(id)
        return len(frame.data) + _HEADER.size if frame else 0

    def scan(self) -> Iterator[tuple[int, Frame]]:
        """Yield every object in file order. Raise CorruptError at a damaged header."""
        offset = len(_PACK_MAGIC)
        while offset + _HEADER.size <= self.size:
            if self._pread(offset, len(_PACK_END)) == _PACK_END:
                return
            frame = self._frame(offset)
            yield offset, frame
            offset += _HEADER.size + len(frame.data)

    def offsets(self) -> dict[ObjectId, int]:
        """Return the offset of each good object, found by a scan that continues after damage.

        Behind damage, the magic bytes of a zstd frame show where the next header may be.
        """
        offsets: dict[ObjectId, int] = {}
        offset = len(_PACK_MAGIC)
        while offset + _HEADER.size <= self.size:
            try:
                frame = self._frame(offset)
                unpack_frame(frame)
            except CorruptError:
                magic = self._find_magic(offset + _HEADER.size + 1)
                if magic < 0:
                    break
                offset = magic - _HEADER.size
            else:
                offsets[frame.id] = offset
                offset += _HEADER.size + len(frame.data)
        return offsets

    def save_index(self, tmp_dir: str) -> None:
        """Write the index that the scan of a pack without one has built."""
        path = index_path(os.path.dirname(self.path), self.name)
        fsio.publish(tmp_dir, path, self._index, is_hint=True)

    def is_intact(self) -> bool:
        """Return whether the file, and the hash at its end, match its name."""
        load_openssl()
        digest = sha256(b"")
        end = self.size - _HASH_SIZE
        for offset in range(0, end, _BUFFER_BYTES):
            digest.update(self._pread(offset, min(_BUFFER_BYTES, end - offset)))
        return digest.hexdigest() == self.name and self._pread(end, _HASH_SIZE) == digest.digest()

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        """Close the file of a pack that nobody closed, which Python would warn of."""
        if hasattr(self, "_file"):
            self.close()

    def _pread(self, offset: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, offset)

    def _find_magic(self, offset: int) -> int:
        """Return where the next zstd frame may start, at `offset` or later, or -1."""
        while offset < self.size:
            at = self._pread(offset, _BUFFER_BYTES).find(_ZSTD_MAGIC)
            if at >= 0:
                return offset + at
            offset += _BUFFER_BYTES - len(_ZSTD_MAGIC) + 1
        return -1

    def _frame(self, offset: int) -> Frame:
        kind, raw_size, size, id = self._header(offset)
        return Frame(id, kind, raw_size, self._pread(offset + _HEADER.size, size))

    def _header(self, offset: int) -> tuple[ObjectKind, int, int, ObjectId]:
        """Return the kind, size, stored size and id of the object at an offset."""
        begin = offset + _HEADER.size
        # A damaged index may hold an offset that no file can have.
        header = self._pread(offset, _HEADER.size) if begin <= self.size else b""
        if len(header) == _HEADER.size:
            kind, raw_size, size, id = _HEADER.unpack(header)
            if 1 <= kind <= len(KINDS) and begin + size <= self.size:
                return KINDS[kind - 1], raw_size, size, ObjectId(id)
        raise CorruptError(f"{self.path} is damaged at byte {offset}: run `ccgrep fsck --repair`")

    def _id_at(self, position: int) -> ObjectId:
        at = _IDS_AT + position * _HASH_SIZE
        return ObjectId(self._index[at : at + _HASH_SIZE])

    def _position(self, prefix: bytes) -> int:
        """Return where `prefix` belongs among the sorted ids."""
        low, high = self._fanout[prefix[0] : prefix[0] + 2]
        return bisect_left(range(self._count), prefix, low, high, key=self._id_at)


def _read_index(path: str) -> bytes | None:
    """Return an index with a valid checksum, or None if it is lost or damaged."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if len(data) < _IDS_AT + _HASH_SIZE:
        return None
    size = _verified_size(data)
    count = _COUNT.unpack_from(data, 8)[0]
    is_complete = size == _IDS_AT + count * (_HASH_SIZE + _COUNT.size)
    return data if is_complete and max(_FANOUT.unpack_from(data, 16)) <= count else None


def _verified_size(data: bytes) -> int:
    """Return the size of an index without its checksum, or 0 if the checksum is wrong."""
    view = memoryview(data)
    if data.startswith(_INDEX_MAGIC):
        body = view[:-4]
        is_valid = crc32(body).to_bytes(4, "little") == data[-4:]
    else:
        body = view[:-_HASH_SIZE]
        is_valid = data.startswith(_OLD_INDEX_MAGIC) and sha256(body).digest() == data[-_HASH_SIZE:]
    return len(body) if is_valid else 0
