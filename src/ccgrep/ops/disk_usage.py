"""How much each project takes, on disk and in the store."""

from collections.abc import Iterator

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.model import ObjectId
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


class ProjectUsage(Struct):
    """The sessions of a project. An object that several projects share counts for the first."""

    project: str
    sessions: int = 0
    turns: int = 0
    disk_bytes: int = 0  # of transcripts that exist
    store_bytes: int = 0  # of turns, manifests and stored bytes, without images and indexes


def measure_projects(config: Config) -> tuple[list[ProjectUsage], int]:
    """Return the projects, the largest first, and the size of the whole store."""

    def measure(store: Store) -> tuple[list[ProjectUsage], int]:
        found: dict[str, ProjectUsage] = {}
        seen: set[ObjectId] = set()
        for row in sorted(store.rows(), key=lambda row: row.session.id):
            usage = found.setdefault(row.session.project, ProjectUsage(row.session.project))
            _add(usage, row, store, seen)
        order = sorted(found.values(), key=lambda u: (-u.disk_bytes, -u.store_bytes, u.project))
        return order, store.size()

    return read_consistently(config.store_dir, measure)


def _add(usage: ProjectUsage, row: Row, store: Store, seen: set[ObjectId]) -> None:
    usage.sessions += bool(row.session.turns) and not row.is_superseded
    usage.turns += row.session.turns if not row.is_superseded else 0
    if not row.is_gone:
        usage.disk_bytes += sum(max(file.size, 0) for file in row.files)
    for id in _objects(row, store):
        if id not in seen:
            seen.add(id)
            usage.store_bytes += store.frame_size(id)


def _objects(row: Row, store: Store) -> Iterator[ObjectId]:
    yield row.manifest
    yield from (part.id for file in (*row.files, *row.versions) for part in file.parts)
    try:
        yield from (entry.turn for entry in store.manifest(row).entries)
    except StoreError:
        return  # fsck reports it.
