"""Originals: the exact bytes of transcripts, in parts that are compressed against their turns.

    original   size and SHA-256 of the part, the turns whose texts it repeats, the blobs that were
               cut out of it, and a zstd frame

Most of a transcript is text that its turns hold too. So zstd gets the texts of these turns as a
prefix, and stores references to them. The prefix is

    the strings of each turn, in order, as one JSON array of UTF-8 text for each turn

or, for a file that is not JSON, the strings themselves, each followed by a newline. It ends after
16 MiB. A JSON string escapes only `"`, `\\` and control characters, as in `\\n` and `\\u001f`.

An image in base64 is replaced by nothing at its offset. Its decoded bytes are a blob, stored once.
"""

import sys
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ccgrep.errors import CorruptError
from ccgrep.hashing import sha256
from ccgrep.lazy_re import compile_pattern
from ccgrep.model import ObjectId
from ccgrep.store.manifest import Row, SideFiles, SourceFile, StoredPart
from ccgrep.store.objects import Frame, decode, make_blob_frame, make_frame

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPTIONS: dict[int, int] = {
    # Level 1 with a larger table compresses as well as level 3, in two thirds of the time.
    zstd.CompressionParameter.compression_level: 1,
    zstd.CompressionParameter.hash_log: 18,
    zstd.CompressionParameter.window_log: 25,  # reaches the start of the longest prefix
}
_MAX_PREFIX_BYTES = 16 * 1024 * 1024
_MIN_PREFIX_BYTES = 8  # zstd's limit
_MEDIA = rb'(?:"|;base64,)((?:iVBORw0KGg|/9j/|R0lGOD|UklGR|JVBERi0)[A-Za-z0-9+/]{24,}={0,2})"'
"""PNG, JPEG, GIF, WebP or PDF in base64, by their first bytes, up to the end of a JSON string."""

Read = Callable[[ObjectId], bytes]


class CutBlob(Struct, frozen=True, array_like=True):
    """A blob whose base64 text belongs at an offset of the part's remaining bytes."""

    offset: int
    id: ObjectId


class Original(Struct, frozen=True, omit_defaults=True):
    """A part of a file. `sha256` is that of the whole part."""

    size: int
    sha256: bytes
    data: bytes
    turns: tuple[ObjectId, ...] = ()
    blobs: tuple[CutBlob, ...] = ()
    is_json: bool = True


class PackedPart(NamedTuple):
    """A part of a file, and the objects that hold it."""

    part: StoredPart
    frames: list[Frame]


def pack_part(
    data: bytes, turns: Sequence[tuple[ObjectId, bytes]], is_json: bool = True
) -> PackedPart:
    """Return a part of a file as objects. `turns` have their ids and contents."""
    rest, media = _cut_media(data) if is_json else (data, [])
    blobs = [(offset, make_blob_frame(content)) for offset, content in media]
    prefix = _make_prefix((content for _, content in turns), is_json)
    original = Original(
        len(data),
        sha256(data).digest(),
        zstd.compress(rest, options=_OPTIONS, zstd_dict=prefix),
        tuple(id for id, _ in turns) if prefix else (),
        tuple(CutBlob(offset, frame.id) for offset, frame in blobs),
        is_json,
    )
    frame = make_frame("original", original)
    return PackedPart(StoredPart(frame.id, len(data)), [*(blob for _, blob in blobs), frame])


def unpack_part(id: ObjectId, read: Read) -> bytes:
    """Return the bytes of a part. `read` returns the verified content of an object."""
    original = decode(read(id), Original)
    prefix = _make_prefix(map(read, original.turns), original.is_json)
    try:
        data = zstd.decompress(original.data, zstd_dict=prefix)
    except zstd.ZstdError:
        data = b""
    data = _insert_media(data, original.blobs, read)
    if sha256(data).digest() != original.sha256:
        raise CorruptError(f"original @{id.hex()[:12]} is damaged: run `ccgrep fsck --repair`")
    return data


def iterate_parts(parts: Iterable[StoredPart], read: Read) -> Iterator[bytes]:
    """Yield the bytes of a file, part by part."""
    for part in parts:
        yield unpack_part(part.id, read)


def list_stored_files(row: Row, read: Read) -> list[SourceFile]:
    """Return the files of a session whose bytes are stored: transcripts, then side files."""
    side_files = decode(read(row.side_files), SideFiles).files if row.side_files else ()
    return [file for file in (*row.versions, *row.files, *side_files) if file.parts]


def list_objects(file: SourceFile, read: Read) -> Iterator[ObjectId]:
    """Yield the objects that hold the bytes of a file: originals, with their turns and blobs."""
    for part in file.parts:
        yield part.id
        original = decode(read(part.id), Original)
        yield from original.turns
        yield from (blob.id for blob in original.blobs)


def _make_prefix(contents: Iterable[bytes], is_json: bool) -> Any:
    """Return the texts of turns as zstd takes them, or None if there are too few."""
    prefix = bytearray()
    for content in contents:
        strings: list[str] = []
        _collect_strings(msgspec.msgpack.decode(content), strings)
        prefix += msgspec.json.encode(strings) if is_json else "\n".join([*strings, ""]).encode()
        if len(prefix) > _MAX_PREFIX_BYTES:
            break
    if len(prefix) < _MIN_PREFIX_BYTES:
        return None
    return zstd.ZstdDict(prefix[:_MAX_PREFIX_BYTES], is_raw=True).as_prefix


def _collect_strings(value: Any, strings: list[str]) -> None:
    """Append the strings in a value to `strings`, in order."""
    if isinstance(value, str):
        strings.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect_strings(item, strings)
    elif isinstance(value, list):
        for item in value:
            _collect_strings(item, strings)


def _cut_media(data: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
    """Return `data` without base64 media, and each of them decoded, with its offset in the rest."""
    rest, cut, done = bytearray(), [], 0
    for start, end, content in _find_media(data):
        rest += data[done:start]
        cut.append((len(rest), content))
        done = end
    return (bytes(rest + data[done:]), cut) if cut else (data, [])


def _find_media(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield start, end and decoded content of JSON strings, or ends of them, that are media.

    All clients name the encoding beside the text, in the same line. So lines without its name,
    which are most, are searched once.
    """
    find_media = compile_pattern(_MEDIA).finditer
    named = data.find(b"base64")
    while named >= 0:
        line = data.rfind(b"\n", 0, named) + 1
        end = data.find(b"\n", named) + 1 or len(data)
        for match in find_media(data, line, end):
            if (content := _decode_exactly(match[1])) is not None:
                yield match.start(1), match.end(1), content
        named = data.find(b"base64", end)


def _decode_exactly(text: bytes) -> bytes | None:
    """Return what base64 encodes, or None if encoding it again gives another text."""
    try:
        content = a2b_base64(text)
    except Error:
        return None
    return content if b2a_base64(content, newline=False) == text else None


def _insert_media(rest: bytes, blobs: Sequence[CutBlob], read: Read) -> bytes:
    data, done = bytearray(), 0
    for blob in blobs:
        data += rest[done : blob.offset] + b2a_base64(read(blob.id), newline=False)
        done = blob.offset
    return bytes(data + rest[done:])
