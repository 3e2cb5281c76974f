"""Replaces images and documents by their type, size and hash."""

import binascii
from typing import Any

from ccgrep.hashing import sha256
from ccgrep.model import Blob


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
