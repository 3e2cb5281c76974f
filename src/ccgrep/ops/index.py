"""Taking in what changed, and saying how far behind the store is."""

import os
import time
from collections.abc import Callable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from ccgrep.config import Config
from ccgrep.fulltext.sync import sync
from ccgrep.ingest.carry_over import adopt, adopt_forgotten
from ccgrep.ingest.exclude import excluded_paths
from ccgrep.ingest.plan import plan
from ccgrep.ingest.run import (
    IndexReport,
    Options,
    Progress,
    build,
    known_files,
    remembered,
)
from ccgrep.model import BadSpot
from ccgrep.ops.common import WAS_OPEN, now_ms, scanner
from ccgrep.sources.scan import scan
from ccgrep.store import fsio
from ccgrep.store.lifecycle import create_store, new_store_dir, open_store, read_consistently, swap
from ccgrep.store.lock import network_filesystem
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


class SourceStatus(Struct):
    files: int = 0
    sessions: int = 0
    turns: int = 0


class Behind(Struct):
    files: int = 0
    bytes: int = 0


class Status(Struct):
    sessions: int = 0
    turns: int = 0
    objects: int = 0
    gone_sessions: int = 0
    sources: dict[str, SourceStatus] = {}
    source_bytes: int = 0
    store_bytes: int = 0
    store_dir: str = ""
    behind: Behind = field(default_factory=Behind)
    bad_lines: int = 0
    unknown_types: dict[str, int] = {}
    last_indexed: int | None = None


def index(
    config: Config,
    is_full: bool = False,
    wait_s: float = 10.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> IndexReport:
    """Takes in what changed since the last run."""
    store = create_store(config.store_dir)
    options = replace(_options(config, wait_s), is_full=is_full)
    report = build(store, scanner(config), options, on_progress)
    if store.was_exposed:
        report.troubles.append(WAS_OPEN)
    if kind := network_filesystem(config.store_dir):
        report.troubles.append(
            f"the store is on a network filesystem ({kind}), where locks may fail: "
            "set CCGREP_DIR to a directory on a disk of this machine"
        )
    return report


def _options(config: Config, wait_s: float) -> Options:
    return Options(
        wait_s=wait_s, roots=config.roots, exclude=config.exclude, kinds=config.index_kinds
    )


def recreate(
    config: Config, wait_s: float = 10.0, on_progress: Callable[[Progress], None] = lambda _: None
) -> tuple[IndexReport, str]:
    """Sets the store aside and builds anew; what only the old one has is taken over."""
    if not os.path.isdir(config.store_dir):
        return index(config, wait_s=wait_s, on_progress=on_progress), ""
    old = Store(config.store_dir)
    with old.lock(wait_s):
        new_dir = new_store_dir(config.store_dir)
        if os.path.isdir(new_dir):
            fsio.remove_tree(new_dir)
        new = create_store(new_dir)
        adopt_forgotten(new, old)
        report = build(new, scanner(config), _options(config, wait_s), on_progress)
        with new.lock(wait_s):
            adopt(new, old, scanner(config)())
            sync(new)
        return report, swap(config.store_dir, now_ms())


def status(config: Config) -> Status:
    """What is in the store, and how far behind the source files it is."""
    return read_consistently(config.store_dir, lambda store: _status(config, store))


def _status(config: Config, store: Store) -> Status:
    snapshot = store.snapshot()
    rows = list(store.rows(snapshot))
    result = Status(
        sources={"claude_code": SourceStatus(), "codex": SourceStatus()},
        objects=len({id for pack in store.packs() for id in pack.ids()}),
        store_bytes=store.size(),
        store_dir=config.store_dir,
        last_indexed=snapshot.created or None,
    )
    for row in rows:
        _add_row(result, row)
    found = remembered(scan(list(config.roots)), set(snapshot.forgotten))
    known = known_files(rows, snapshot.hints)
    todo = plan(known, found, time.time_ns())
    excluded = excluded_paths(found, rows, config.exclude)
    for path in (path for path in todo.new + todo.changed if path not in excluded):
        size = found.files[path].size
        done = known[path].end if path in known else 0
        result.behind.files += 1
        result.behind.bytes += size - done if size >= done else size
    return result


def _add_row(result: Status, row: Row) -> None:
    session = row.session
    if session.turns:
        source = result.sources[session.source]
        source.sessions += 1
        source.turns += session.turns
        result.sessions += 1
        result.turns += session.turns
        result.gone_sessions += row.is_gone
    if not row.is_gone:
        result.sources[session.source].files += len(row.files)
        result.source_bytes += sum(max(file.size, 0) for file in row.files)
    result.bad_lines += session.bad_lines
    for name, number in session.unknown_types.items():
        result.unknown_types[name] = result.unknown_types.get(name, 0) + number


def bad_spots(config: Config) -> Iterator[tuple[str, BadSpot]]:
    """What could not be read, by file."""
    store = open_store(config.store_dir)
    for row in store.rows():
        if row.session.bad_lines:
            path = row.files[0].path if row.files else row.session.id
            yield from ((path, spot) for spot in store.manifest(row).bad)
