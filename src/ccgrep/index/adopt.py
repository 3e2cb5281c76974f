"""Takes over from an old store what its source files can no longer give.

Sessions whose file is gone, superseded ones and what was forgotten; everything else is
read anew. The old store may be damaged: what cannot be read of it is left there.
"""

import time

from ccgrep.errors import StoreError
from ccgrep.sources.scan import Scan
from ccgrep.store.database import Commit, Store
from ccgrep.store.manifest import Row, Snapshot


def adopt(store: Store, old: Store, scan: Scan) -> int:
    """Copies to `store` the sessions of `old` that have no file in `scan`; says how many."""
    try:
        snapshot = old.snapshot()
    except StoreError:
        return 0
    adopted = 0
    with Commit(store) as commit:
        for row in _readable_rows(old, snapshot):
            if any(file.path in scan.files for file in row.files):
                continue
            if _copy(row, old, commit):
                adopted += 1
        hints = tuple(hint for hint in snapshot.hints if hint.path not in scan.files)
        now_ms = time.time_ns() // 1_000_000
        commit.commit(now_ms, forgotten=snapshot.forgotten, hints=hints)
    return adopted


def _readable_rows(old: Store, snapshot: Snapshot) -> list[Row]:
    rows: list[Row] = []
    for number, id in snapshot.shards.items():
        try:
            rows += old.rows(Snapshot(shards={number: id}))
        except StoreError:
            continue
    return rows


def _copy(row: Row, old: Store, commit: Commit) -> bool:
    """Copies a manifest and those of its turns that can be read."""
    try:
        manifest = old.manifest(row)
        commit.add(old.frame(row.manifest))
    except StoreError:
        return False
    for entry in manifest.entries:
        try:
            commit.add(old.frame(entry.turn))
        except StoreError:
            continue
    commit.set_row(row)
    return True
