"""The list of transcripts that `ccgrep prune` deleted.

    pruned    one line of JSON per transcript: when, session, size, sha256, path

It tells people what is gone and when. Nothing else reads it: the store itself restores the bytes.
"""

import os
from collections.abc import Collection, Iterable

import msgspec
from msgspec import Struct

from ccgrep.store import fsio
from ccgrep.store.store import Store


class PrunedFile(Struct, frozen=True):
    when: int  # milliseconds since 1970, UTC
    session: str
    size: int
    sha256: str
    path: str


def read_pruned(store: Store) -> list[PrunedFile]:
    """Return the list, the oldest first, without lines that are damaged."""
    try:
        with open(_path(store), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=PrunedFile))
        except msgspec.MsgspecError:
            continue
    return found


def write_pruned(store: Store, files: Iterable[PrunedFile]) -> None:
    """Replace the list. The caller holds the writer lock."""
    text = b"".join(msgspec.json.encode(file) + b"\n" for file in files)
    fsio.make_dir(store.tmp_dir)
    fsio.publish(store.tmp_dir, _path(store), text)


def drop_sessions(store: Store, sessions: Collection[str]) -> None:
    """Remove forgotten sessions from the list."""
    known = read_pruned(store)
    kept = [file for file in known if file.session not in sessions]
    if len(kept) < len(known):
        write_pruned(store, kept)


def _path(store: Store) -> str:
    return os.path.join(store.directory, "pruned")
