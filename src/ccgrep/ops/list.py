"""Lists sessions."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.search.filters import passes_documents
from ccgrep.search.index_opener import open_current_reader, open_index, open_without_index
from ccgrep.search.request import Filters
from ccgrep.search.searcher import Searcher
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.lineage import find_tops, walk_trees
from ccgrep.store.machines import name_machine, read_machines
from ccgrep.store.manifest import Mark, Row
from ccgrep.store.marks import tags_by_session
from ccgrep.store.store import Store


class ListedSession(Struct, frozen=True):
    """A session with its shortest unambiguous id, and its depth if listed as a tree.

    `subagents` counts those that are folded into it. `row.provenance` tells whether it came from
    another machine.
    """

    row: Row
    short_id: str
    depth: int | None = None
    subagents: int = 0
    machine: str = ""  # its name, or "" if there never was a remote
    tags: tuple[str, ...] | None = None  # of the session and its turns; None if it has no mark


def list_sessions(
    config: Config,
    filters: Filters,
    limit: int = 0,
    is_tree: bool = False,
    is_folded: bool = False,
    is_gone: bool = False,
) -> list[ListedSession]:
    """Return sessions with turns, the most recent first.

    As a tree, sub-agents and forks follow the session that they come from. Folded, sub-agents are
    counted with the listed session that started them. `limit` is the maximum number of sessions,
    or of trees; 0 means no limit. `is_gone` leaves out sessions with a transcript on disk.
    """
    rows, marks = read_consistently(config.store_dir, _read_sessions)
    tags = _tags_by_session(config, marks)
    short = refs.short_ids(row.session.id for row in rows)
    passing = _passing_sessions(config, filters)
    listed = [
        row
        for row in rows
        if row.session.turns and not row.is_superseded and passes_documents(row.session, filters)
    ]
    if filters.except_ids:
        tops = find_tops(rows, filters.except_ids)
        listed = [row for row in listed if tops[row.session.id] not in filters.except_ids]
    if is_gone:
        listed = [row for row in listed if row.is_gone and row.provenance is None]
    if passing is not None:
        listed = [row for row in listed if row.session.id in passing]
    listed.sort(key=lambda row: (-(row.session.ended or 0), row.session.id))
    folded: Counter[str] = Counter()
    nodes: list[tuple[Row, int | None]]
    if is_tree:
        nodes = read_consistently(
            config.store_dir, lambda store: [*walk_trees(store, listed, limit)]
        )
    else:
        if is_folded:
            ids = {row.session.id for row in listed}
            tops = find_tops(rows, ids)
            folded.update(tops[id] for id in ids if tops[id] != id)
            listed = [row for row in listed if tops[row.session.id] == row.session.id]
        nodes = [(row, None) for row in listed[: limit or None]]
    machines = read_machines(config.store_dir)
    return [
        ListedSession(row, short[id], depth, folded[id], name_machine(machines, row), tags.get(id))
        for row, depth in nodes
        for id in (row.session.id,)
    ]


def _read_sessions(store: Store) -> tuple[list[Row], tuple[Mark, ...]]:
    snapshot = store.snapshot()
    return list(store.rows(snapshot)), snapshot.marks


def _tags_by_session(config: Config, marks: Sequence[Mark]) -> dict[str, tuple[str, ...]]:
    """Return the tags of the marked sessions. A mark of a turn is one of every fork that has it."""
    turns = {int.from_bytes(mark.turn[:7]): mark for mark in marks if mark.turn}
    reader = open_current_reader(config.store_dir) if turns else None
    if reader is None:
        return tags_by_session(marks)
    elsewhere = [
        replace(turns[hit.object_key], session=reader.place(hit.address)[0])
        for hit in reader.search(reader.with_turns([*turns]))
    ]
    return tags_by_session([*marks, *elsewhere])


def _passing_sessions(config: Config, filters: Filters) -> set[str] | None:
    """Return the sessions with a turn that passes the filters, or None if all do."""
    if filters._replace(documents="include", except_ids=frozenset()) == Filters():
        return None
    try:
        index = open_index(config.store_dir) or open_without_index(config.store_dir, "literal")
        return set(Searcher(config, index).sessions(filters))
    except NotFoundError:
        return set()
