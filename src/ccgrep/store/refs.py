"""The small files beside the objects: HEAD, FORMAT and `forgotten`.

HEAD        the id of the current snapshot: 64 hex digits and a newline, zeros before the first
            commit
forgotten   32 hex digits a line: keys of sessions and files that must not be ingested again.
            The snapshot holds them too, but a request to forget must survive a lost snapshot.

Every search reads HEAD, so this module loads `fsio` only to write.
"""

from __future__ import annotations

import os

from ccgrep.lazy_re import compile_pattern
from ccgrep.store.access import FEATURES, USUAL_FEATURES, format_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ccgrep.model import ObjectId

_FORGOTTEN = rb"(?m)^[0-9a-f]{32}$"


def read_head(store_dir: str) -> str:
    """Return HEAD without its newline and unchecked, or an empty string if it is unreadable.

    `Store.head` is the checked version.
    """
    try:
        return head_bytes(store_dir).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def head_bytes(store_dir: str) -> bytes:
    with open(os.path.join(store_dir, "HEAD"), "rb") as file:
        return file.read(100)


def write_head(store_dir: str, id: ObjectId) -> None:
    _publish(store_dir, "HEAD", f"{id.hex()}\n")


def write_format(store_dir: str) -> None:
    _publish(store_dir, "FORMAT", format_text())


def require_features(store_dir: str, features: Collection[str] = USUAL_FEATURES) -> None:
    """Record that the store has objects or sessions that older versions cannot read."""
    recorded = read_features(store_dir)
    if not recorded >= set(features):
        _publish(store_dir, "FORMAT", format_text({*recorded, *USUAL_FEATURES, *features}))


def read_features(store_dir: str) -> frozenset[str]:
    """Return what a reader of the store must support."""
    with open(os.path.join(store_dir, "FORMAT"), encoding="utf-8", errors="replace") as file:
        text = file.read(4096)
    return FEATURES & set(text.rpartition("features ")[2].split())


def read_forgotten(store_dir: str) -> list[bytes]:
    """Return every readable key of `forgotten`."""
    try:
        with open(os.path.join(store_dir, "forgotten"), "rb") as file:
            keys = compile_pattern(_FORGOTTEN).findall(file.read())
    except FileNotFoundError:
        return []
    return [bytes.fromhex(key.decode()) for key in keys]


def write_forgotten(store_dir: str, keys: Iterable[bytes]) -> None:
    _publish(store_dir, "forgotten", "".join(f"{key.hex()}\n" for key in keys))


def _publish(store_dir: str, name: str, text: str) -> None:
    from ccgrep.store import fsio  # noqa: PLC0415 - not needed to read

    fsio.publish(os.path.join(store_dir, "tmp"), os.path.join(store_dir, name), text.encode())
