"""Reports what the store holds and how far it is behind the transcripts."""

import os
import time
from collections.abc import Iterator

from msgspec import Struct, field

from ccgrep.config import Config
from ccgrep.errors import CcgrepError
from ccgrep.fulltext import generations
from ccgrep.ingest.exclude import drop_forgotten, excluded_paths, known_files
from ccgrep.ingest.plan import plan
from ccgrep.model import BadSpot
from ccgrep.sources.cleanup import read_cleanup
from ccgrep.sources.registry import SOURCES
from ccgrep.sources.scan import FoundFile, scan
from ccgrep.store.lifecycle import open_store, read_consistently
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store

_DAY_NS = 86_400_000_000_000


class SourceStatus(Struct):
    """What the store holds of one source."""

    files: int = 0
    sessions: int = 0
    turns: int = 0


class Behind(Struct):
    """What has not been ingested yet."""

    files: int = 0
    bytes: int = 0


class Unkept(Struct):
    """Transcripts on disk whose bytes are not stored, and when Claude Code deletes the first."""

    files: int = 0
    bytes: int = 0
    days_left: int | None = None  # None: no client deletes them


class EmbeddingStatus(Struct, frozen=True):
    """How many texts within the embedding window have vectors of the configured model.

    `problem` says why nothing can be embedded.
    """

    model: str = ""
    embedded: int = 0
    pending: int = 0
    window_days: int = 0  # 0: no window
    outside_window: int = 0  # turns without vectors because of their age
    texts_per_second: float | None = None  # of the last large embedding
    seconds_left: float | None = None
    problem: str = ""


class Status(Struct):
    """The state of the store. `ccgrep status --json` prints these fields."""

    sessions: int = 0
    turns: int = 0
    objects: int = 0
    gone_sessions: int = 0
    sources: dict[str, SourceStatus] = {}
    source_bytes: int = 0
    store_bytes: int = 0
    store_dir: str = ""
    behind: Behind = field(default_factory=Behind)
    unkept: Unkept = field(default_factory=Unkept)
    unwritten_roots: list[str] = []  # where Claude Code is told to keep no transcripts
    bad_lines: int = 0
    unknown_types: dict[str, int] = {}
    last_indexed: int | None = None
    embeddings: EmbeddingStatus | None = None  # None: the setting `embed` is never


def status(config: Config) -> Status:
    """Return the state of the store compared with the transcripts on disk."""
    return read_consistently(config.store_dir, lambda store: _status(config, store))


def _status(config: Config, store: Store) -> Status:
    snapshot = store.snapshot()
    rows = list(store.rows(snapshot))
    result = Status(
        sources={source.name: SourceStatus() for source in SOURCES[:2]},
        objects=len({id for pack in store.packs() for id in pack.ids()}),
        store_bytes=store.size(),
        store_dir=config.store_dir,
        last_indexed=snapshot.created or None,
        embeddings=_embedding_status(config),
    )
    for row in rows:
        _add_row(result, row)
    found = drop_forgotten(scan(list(config.roots)), set(snapshot.forgotten))
    known = known_files(rows, snapshot.hints)
    todo = plan(known, found, time.time_ns())
    excluded = excluded_paths(found, rows, config.exclude)
    for path in (path for path in todo.new + todo.changed if path not in excluded):
        size = found.files[path].size
        done = known[path].end if path in known else 0
        result.behind.files += 1
        result.behind.bytes += size - done if size >= done else size
    files = [f for f in found.files.values() if f.kind == "session" and f.path not in excluded]
    cleanups = [read_cleanup(root) for root in config.roots if root.source == "claude_code"]
    result.unwritten_roots = [cleanup.root for cleanup in cleanups if cleanup.days == 0]
    days = {os.path.realpath(cleanup.root): cleanup.days for cleanup in cleanups}
    for file in files:
        stored = known[file.path].stored_bytes if file.path in known else 0
        if stored < file.size:
            _add_unkept(result.unkept, file, days.get(file.root))
    return result


def _add_unkept(unkept: Unkept, file: FoundFile, days: int | None) -> None:
    unkept.files += 1
    unkept.bytes += file.size
    if days is not None:
        age = (time.time_ns() - file.mtime_ns) // _DAY_NS
        left = max(days - age, 0)
        unkept.days_left = left if unkept.days_left is None else min(unkept.days_left, left)


def _add_row(result: Status, row: Row) -> None:
    session = row.session
    source = result.sources.setdefault(session.source, SourceStatus())
    if session.turns and session.kind != "document":
        source.sessions += 1
        source.turns += session.turns
        result.sessions += 1
        result.turns += session.turns
        result.gone_sessions += row.is_gone and row.provenance is None
    if not row.is_gone:
        source.files += len(row.files)
        result.source_bytes += sum(max(file.size, 0) for file in row.files)
    result.bad_lines += session.bad_lines
    for name, number in session.unknown_types.items():
        result.unknown_types[name] = result.unknown_types.get(name, 0) + number


def _embedding_status(config: Config) -> EmbeddingStatus | None:
    """Return the state of the embeddings, or None if there are none and none are wanted."""
    has_vectors = os.path.isdir(os.path.join(config.store_dir, "vectors"))
    if config.embed == "never" and not has_vectors:
        return None
    try:
        return _count_embeddings(config)
    except (CcgrepError, ImportError) as error:
        return EmbeddingStatus(window_days=config.embed_window_days, problem=str(error))


def _count_embeddings(config: Config) -> EmbeddingStatus:
    from ccgrep.semantic import configured_model, embedding  # noqa: PLC0415 - needs the extra
    from ccgrep.semantic.vector_files import model_dir  # noqa: PLC0415
    from ccgrep.semantic.vectors import Vectors  # noqa: PLC0415

    model = configured_model.find_unverified_model(config)
    days = config.embed_window_days
    generation = generations.current(config.store_dir)
    if generation is None:
        return EmbeddingStatus(model.name, window_days=days)
    reader = generations.open_reader(generation.path)
    since = embedding.window_start(days, generation.newest)
    surfaces = (*config.surfaces, "title")
    known = Vectors(model_dir(config.store_dir, model.id)).keys()
    found = embedding.find_pending(reader, known, surfaces, since)
    pending = len(found.texts)
    rate = configured_model.read_rate(config, model)
    return EmbeddingStatus(
        model=model.name,
        embedded=found.total - pending,
        pending=pending,
        window_days=days,
        outside_window=embedding.count_outside(reader, known, surfaces, since),
        texts_per_second=rate,
        seconds_left=pending / rate if rate else None,
    )


def bad_spots(config: Config) -> Iterator[tuple[str, BadSpot]]:
    """Yield each unreadable spot with the path of its transcript."""
    store = open_store(config.store_dir)
    for row in store.rows():
        if row.session.bad_lines:
            path = row.files[0].path if row.files else row.session.id
            yield from ((path, spot) for spot in store.manifest(row).bad)
