"""Converts untrusted values of records: times, UUIDs, counts, directories, images and documents."""

import binascii
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from ccgrep.hashing import sha256
from ccgrep.model import Blob

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_VALUES = 32
_MAX_VALUE_CHARS = 100
_MAX_TYPES = 100
_MAX_TYPE_CHARS = 64


def parse_time(value: Any) -> int | None:
    """Return milliseconds since 1970, from an ISO time or a number of seconds or milliseconds."""
    if isinstance(value, str):
        return _parse_iso_time(value)
    if isinstance(value, int | float) and 0 <= value < 1e14:
        return int(value if value >= 1e11 else value * 1000)
    return None


def _parse_iso_time(value: str) -> int | None:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    delta = time - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


def uuid_bytes(value: Any) -> bytes:
    """Return a record's UUID as 16 bytes, hashed if it is malformed, empty if there is none."""
    if not isinstance(value, str) or not value:
        return b""
    try:
        raw = bytes.fromhex(value.replace("-", ""))
    except ValueError:
        raw = b""
    return raw if len(raw) == 16 else sha256(value.encode()).digest()[:16]


def as_string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_dicts(values: Any) -> list[dict[str, Any]]:
    """Return the objects in a list."""
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def parse_input(arguments: Any) -> Any:
    """Return the input of a call. Some clients write it as a text that holds a JSON object."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def as_count(value: Any) -> int | None:
    """Return a number of tokens, or None if `value` is not a plausible one."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**53 else None


def as_amount(value: Any) -> float | None:
    """Return an amount of money, or None if `value` is not a plausible one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e9 else None


@lru_cache(maxsize=64)  # consecutive lines often belong to one message
def usage_key(*parts: Any) -> bytes:
    """Return the 8 bytes that identify an API message, so that its tokens are counted once."""
    return sha256("\0".join(map(str, parts)).encode()).digest()[:8]


def append_unique(known: tuple[str, ...], value: Any) -> tuple[str, ...]:
    """Return `known` with `value` appended, unless it is present or the tuple is full."""
    if not isinstance(value, str) or not value or value in known or len(known) >= _MAX_VALUES:
        return known
    return (*known, value[:_MAX_VALUE_CHARS])


def count_type(counts: dict[str, int], record_type: Any) -> dict[str, int]:
    """Return `counts` with one more unknown record type, for a limited number of types."""
    name = record_type[:_MAX_TYPE_CHARS] if isinstance(record_type, str) else "no type"
    if name not in counts and len(counts) >= _MAX_TYPES:
        return counts
    return {**counts, name: counts.get(name, 0) + 1}


def sum_known(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known values, or None if all are unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@lru_cache(maxsize=4096)
def find_project(cwd: str) -> str:
    """Return the nearest directory at or above `cwd` that has a `.git`, else `cwd` itself."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        return cwd
    directory = os.path.normpath(cwd)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return cwd
        directory = parent
    return directory


def base64_blob(media_type: Any, data: str) -> Blob:
    """Return the blob that base64 text encodes, or a blob of the text if it is not base64."""
    try:
        payload = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        payload = data.encode("utf-8", "replace")
    return bytes_blob(media_type if isinstance(media_type, str) else "", payload)


def bytes_blob(media_type: str, payload: bytes) -> Blob:
    return Blob(media_type, len(payload), sha256(payload).hexdigest())


def block_blob(block: dict[str, Any]) -> Blob | None:
    """Return the blob of Claude's `image` or `document` block, or None if it has no data."""
    source = block.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        return None
    return base64_blob(source.get("media_type"), source["data"])


def data_url_blob(url: Any) -> Blob | None:
    """Return the blob of a `data:` URL, Codex's form of images, or None for other URLs."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url[5:].partition(",")
    media_type, _, encoding = head.partition(";")
    if encoding.endswith("base64"):
        return base64_blob(media_type, data)
    return bytes_blob(media_type, data.encode("utf-8", "replace"))
