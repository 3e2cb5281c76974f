"""Objects: immutable content of a kind, stored under the hash of that content.

    id     = SHA-256( kind ‖ " " ‖ decimal length ‖ NUL ‖ content )
    stored = a zstd frame of the content, behind a header that pack.py describes

The content is a Struct in canonical msgpack: equal values have equal bytes. Keys of free-form maps
are sorted, and numbers that msgpack cannot represent become text. A blob is the exception: its
content is the bytes of an image or document, and its id is their plain SHA-256.
"""

import sys
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ccgrep.errors import CorruptError
from ccgrep.hashing import sha256
from ccgrep.model import ObjectId

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ObjectKind = Literal["turn", "manifest", "shard", "snapshot", "original", "side_files", "blob"]
KINDS: tuple[ObjectKind, ...] = (
    "turn", "manifest", "shard", "snapshot", "original", "side_files", "blob",
)  # fmt: skip

MAX_OBJECT_BYTES = 2**32 - 1
_LEVEL = 3
_MAX_DEPTH = 200

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
T = TypeVar("T")


class Frame(NamedTuple):
    """An object as it is stored."""

    id: ObjectId
    kind: ObjectKind
    raw_size: int
    data: bytes


def object_id(kind: ObjectKind, raw: bytes) -> ObjectId:
    if kind == "blob":
        return ObjectId(sha256(raw).digest())
    digest = sha256(b"%s %d\0" % (kind.encode(), len(raw)))
    digest.update(raw)
    return ObjectId(digest.digest())


def encode(value: msgspec.Struct) -> bytes:
    """Return the canonical bytes of `value`."""
    try:
        return _ENCODER.encode(value)
    except (OverflowError, RecursionError, UnicodeEncodeError):
        return _ENCODER.encode(_storable(value, 0))


def _storable(value: Any, depth: int) -> Any:
    """Return `value` with everything replaced that msgpack cannot represent."""
    if depth > _MAX_DEPTH:
        return "(nested too deep)"
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return replace(value, **{name: _storable(v, depth + 1) for name, v in fields.items()})
    if isinstance(value, dict):
        return {key: _storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_storable(item, depth + 1) for item in value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def decode(raw: bytes, kind: type[T]) -> T:
    """Return the value of type `kind` that `raw` encodes."""
    try:
        return msgspec.msgpack.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptError(
            f"an object is not a {kind.__name__} that this ccgrep can read ({error}): "
            "run `ccgrep fsck`"
        ) from error


def make_frame(kind: ObjectKind, value: msgspec.Struct) -> Frame:
    """Return `value` as an object, ready for a pack."""
    return _make_frame(kind, encode(value))


def make_blob_frame(content: bytes) -> Frame:
    """Return an image or document as an object, ready for a pack."""
    return _make_frame("blob", content)


def _make_frame(kind: ObjectKind, raw: bytes) -> Frame:
    return Frame(object_id(kind, raw), kind, len(raw), zstd.compress(raw, _LEVEL))


def decompress_frame(frame: Frame) -> bytes:
    """Return the content of an object that this process made."""
    return zstd.decompress(frame.data)


def unpack_frame(frame: Frame) -> bytes:
    """Return the content of an object that was read from disk, verified against its id."""
    try:
        raw = zstd.decompress(frame.data)
    except zstd.ZstdError:
        raw = b""
    if len(raw) != frame.raw_size or object_id(frame.kind, raw) != frame.id:
        raise CorruptError(f"object @{frame.id.hex()[:12]} is damaged: run `ccgrep fsck --repair`")
    return raw


def compress(data: bytes) -> bytes:
    """Return data as a zstd frame."""
    return zstd.compress(data, _LEVEL)


def decompress(data: bytes, max_bytes: int) -> bytes:
    """Return the content of a zstd frame. Raise ValueError if it is damaged or larger."""
    decompressor = zstd.ZstdDecompressor()
    try:
        raw = decompressor.decompress(data, max_length=max_bytes)
    except zstd.ZstdError as error:
        raise ValueError("damaged zstd frame") from error
    if not decompressor.eof:
        raise ValueError("incomplete or too large zstd frame")
    return raw
