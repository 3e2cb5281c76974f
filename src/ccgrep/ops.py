"""The use cases: what the command line and the MCP server can ask for.

Each takes a Config and plain values, and gives typed results. Nothing is printed here,
and nothing of the environment is read.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct, field

from ccgrep import lookup
from ccgrep.config import Config
from ccgrep.errors import MissingObjectError, StoreError
from ccgrep.index.adopt import adopt, adopt_forgotten
from ccgrep.index.build import (
    IndexReport,
    Options,
    Progress,
    build,
    known_files,
    remembered,
)
from ccgrep.index.plan import plan
from ccgrep.kinds import SourceName
from ccgrep.model import BadSpot, Entry, ObjectId, Session, Turn
from ccgrep.sources.scan import Scan, scan
from ccgrep.store import fsck as checks
from ccgrep.store import fsio
from ccgrep.store import gc as collector
from ccgrep.store.database import (
    Store,
    create_store,
    new_store_dir,
    open_store,
    stores_set_aside,
    swap,
)
from ccgrep.store.fsck import FsckReport
from ccgrep.store.gc import GcReport
from ccgrep.store.manifest import Manifest, Row

T = TypeVar("T")


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


class Filters(Struct, frozen=True):
    """Which sessions are meant; every one that is not `None` must hold."""

    project: str | None = None
    since: int | None = None
    until: int | None = None
    source: SourceName | None = None
    limit: int = 0


class Listed(Struct, frozen=True):
    """A session in a list, with the shortest id that names it."""

    row: Row
    short_id: str


class Place(Struct, frozen=True):
    """A turn as it stands in a session."""

    number: int
    entry: Entry
    turn: Turn | None  # None: the object is lost


class Shown(Struct, frozen=True):
    """A session with the turns that were asked for; `session` is None for a bare object."""

    session: Session | None
    places: tuple[Place, ...]
    path: str = ""
    is_gone: bool = False


class FsckResult(Struct, frozen=True):
    report: FsckReport
    repaired: FsckReport | None = None


def index(
    config: Config,
    is_full: bool = False,
    wait_s: float = 10.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> IndexReport:
    """Takes in what changed since the last run."""
    options = Options(wait_s=wait_s, is_full=is_full)
    return build(create_store(config.store_dir), _scanner(config), options, on_progress)


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
        report = build(new, _scanner(config), Options(wait_s=wait_s), on_progress)
        with new.lock(wait_s):
            adopt(new, old, _scanner(config)())
        return report, swap(config.store_dir, _now_ms())


def _scanner(config: Config) -> Callable[[], Scan]:
    return lambda: scan(list(config.roots))


def _read(config: Config, work: Callable[[Store], T]) -> T:
    """Runs `work` on the store; once more if a writer took an object away meanwhile."""
    store = open_store(config.store_dir)
    head = store.head()
    try:
        return work(store)
    except MissingObjectError:
        if store.head() == head:
            raise
        return work(open_store(config.store_dir))


def status(config: Config) -> Status:
    """What is in the store, and how far behind the source files it is."""
    return _read(config, lambda store: _status(config, store))


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
    for path in todo.new + todo.changed:
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


def list_sessions(config: Config, filters: Filters) -> list[Listed]:
    """Sessions with turns, the most recent first."""
    rows = _read(config, lambda store: list(store.rows()))
    short = lookup.abbreviations(row.session.id for row in rows)
    wanted = [row for row in rows if row.session.turns and _passes(row, filters)]
    wanted.sort(key=lambda row: (-(row.session.ended or 0), row.session.id))
    if filters.limit:
        wanted = wanted[: filters.limit]
    return [Listed(row, short[row.session.id]) for row in wanted]


def _passes(row: Row, filters: Filters) -> bool:
    session = row.session
    times = [time for time in (session.started, session.ended) if time is not None]
    return (
        not row.is_superseded
        and (filters.source is None or session.source == filters.source)
        and (filters.project is None or filters.project.lower() in session.project.lower())
        and (filters.since is None or (bool(times) and max(times) >= filters.since))
        and (filters.until is None or (bool(times) and min(times) <= filters.until))
    )


def show(config: Config, ref: str) -> Shown:
    """The session or turn that `ref` names."""
    return _read(config, lambda store: _show(store, ref))


def _show(store: Store, ref: str) -> Shown:
    target = lookup.find(store, list(store.rows()), ref)
    if target.row is None:
        assert target.object is not None
        return _show_object(store, target.object)
    manifest = store.manifest(target.row)
    numbers = range(len(manifest.entries)) if target.turn is None else [target.turn]
    return Shown(
        session=target.row.session,
        places=tuple(_place(store, manifest, number) for number in numbers),
        path=target.row.files[0].path if target.row.files else "",
        is_gone=target.row.is_gone,
    )


def _show_object(store: Store, id: ObjectId) -> Shown:
    """A turn by its id, at the first place that refers to it."""
    for row, manifest in _manifests(store):
        for number, entry in enumerate(manifest.entries):
            if entry.turn == id:
                place = _place(store, manifest, number)
                path = row.files[0].path if row.files else ""
                return Shown(row.session, (place,), path, row.is_gone)
    bare = Entry(turn=id, start=0, end=0)
    return Shown(None, (Place(0, bare, store.load(id, Turn)),))


def _manifests(store: Store) -> Iterator[tuple[Row, Manifest]]:
    for row in store.rows():
        yield row, store.manifest(row)


def _place(store: Store, manifest: Manifest, number: int) -> Place:
    entry = manifest.entries[number]
    try:
        turn = store.load(entry.turn, Turn)
    except StoreError:
        turn = None
    return Place(number, entry, turn)


def fsck(config: Config, is_repair: bool = False, wait_s: float = 10.0) -> FsckResult:
    """Checks the store; with `is_repair` mends it, reading transcripts again where needed."""
    if not is_repair:
        return FsckResult(_check(config))
    store = open_store(config.store_dir, is_repair=True)
    with store.lock(wait_s):
        report = checks.check(store)
        lost = [] if report.is_clean else checks.repair(store)
    if report.is_clean:
        return FsckResult(report, report)
    index(config, wait_s=wait_s)
    repaired = _check(config)
    found = {row.session.id for row in open_store(config.store_dir).rows()}
    repaired.lost += [name for name in lost if name.partition(" ")[2] not in found]
    return FsckResult(report, repaired)


def _check(config: Config) -> FsckReport:
    """Checks the store; anew if somebody wrote to it meanwhile."""
    while True:
        store = open_store(config.store_dir)
        before = (store.pack_names(), _head_bytes(store))
        report = checks.check(store)
        if report.is_clean or before == (store.pack_names(), _head_bytes(store)):
            return report


def _head_bytes(store: Store) -> str:
    try:
        return store.head().hex()
    except StoreError as error:
        return str(error)


def gc(config: Config, wait_s: float = 10.0) -> GcReport:
    """Folds packs and drops what nothing refers to."""
    store = open_store(config.store_dir)
    with store.lock(wait_s):
        return collector.collect_garbage(store)


class Forgotten(Struct, frozen=True):
    sessions: tuple[str, ...]
    report: GcReport
    set_aside: tuple[str, ...]


def forget(config: Config, refs: list[str], wait_s: float = 10.0) -> Forgotten:
    """Removes sessions, and the sub-agents that served them, for good."""
    store = open_store(config.store_dir)
    with store.lock(wait_s):
        new_dir = new_store_dir(config.store_dir)
        if os.path.isdir(new_dir):
            fsio.remove_tree(new_dir)  # What a killed --recreate left holds the same bytes.
        rows = list(store.rows())
        wanted: dict[str, Row] = {}
        for ref in refs:
            target = lookup.find(store, rows, ref)
            if target.row is None or target.turn is not None:
                raise StoreError(f"{ref} names a turn: only whole sessions can be forgotten")
            _add_with_sub_agents(target.row, rows, wanted)
        report = collector.forget(store, wanted.values(), _now_ms())
    left = tuple(stores_set_aside(config.store_dir))
    return Forgotten(tuple(sorted(wanted)), report, left)


def _add_with_sub_agents(row: Row, rows: list[Row], wanted: dict[str, Row]) -> None:
    if row.session.id in wanted:
        return
    wanted[row.session.id] = row
    for other in rows:
        is_served = other.session.parent == row.base_id and other.session.kind != "main"
        is_served = is_served and not row.is_superseded
        is_earlier = other.is_superseded and other.base_id == row.base_id
        if is_served or is_earlier:
            _add_with_sub_agents(other, rows, wanted)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
