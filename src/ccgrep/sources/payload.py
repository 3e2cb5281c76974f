"""Payloads that are not text: kept as type, size and hash only."""

import binascii
from typing import Any

from ccgrep.hashing import sha256
from ccgrep.model import Blob


def base64_blob(media_type: Any, data: str) -> Blob:
    """The blob that base64 text stands for; of text that is none, the text itself."""
    try:
        payload = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        payload = data.encode("utf-8", "replace")
    return bytes_blob(media_type if isinstance(media_type, str) else "", payload)


def bytes_blob(media_type: str, payload: bytes) -> Blob:
    return Blob(media_type, len(payload), sha256(payload).hexdigest())


def block_blob(block: dict[str, Any]) -> Blob | None:
    """The blob of an `image` or `document` block in Claude's form, if it has one."""
    source = block.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        return None
    return base64_blob(source.get("media_type"), source["data"])


def data_url_blob(url: Any) -> Blob | None:
    """The blob of a `data:` address, as Codex keeps images."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url[5:].partition(",")
    media_type, _, encoding = head.partition(";")
    if encoding.endswith("base64"):
        return base64_blob(media_type, data)
    return bytes_blob(media_type, data.encode("utf-8", "replace"))
