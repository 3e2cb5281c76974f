"""Lists sessions."""

from msgspec import Struct

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.search.filters import passes_documents
from ccgrep.search.index_opener import open_index, open_without_index
from ccgrep.search.request import Filters
from ccgrep.search.searcher import Searcher
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.lineage import walk_trees
from ccgrep.store.manifest import Row


class ListedSession(Struct, frozen=True):
    """A session with its shortest unambiguous id, and its depth if listed as a tree."""

    row: Row
    short_id: str
    depth: int | None = None


def list_sessions(
    config: Config, filters: Filters, limit: int = 0, is_tree: bool = False
) -> list[ListedSession]:
    """Return sessions with turns, the most recent first.

    As a tree, sub-agents and forks follow the session that they come from. `limit` is the maximum
    number of sessions, or of trees; 0 means no limit.
    """
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    short = refs.short_ids(row.session.id for row in rows)
    passing = _passing_sessions(config, filters)
    listed = [
        row
        for row in rows
        if row.session.turns and not row.is_superseded and passes_documents(row.session, filters)
    ]
    if passing is not None:
        listed = [row for row in listed if row.session.id in passing]
    listed.sort(key=lambda row: (-(row.session.ended or 0), row.session.id))
    if is_tree:
        nodes = read_consistently(
            config.store_dir, lambda store: list(walk_trees(store, listed, limit))
        )
        return [ListedSession(row, short[row.session.id], depth) for row, depth in nodes]
    return [ListedSession(row, short[row.session.id]) for row in listed[: limit or None]]


def _passing_sessions(config: Config, filters: Filters) -> set[str] | None:
    """Return the sessions with a turn that passes the filters, or None if all do."""
    if filters._replace(documents="include") == Filters():
        return None
    try:
        index = open_index(config.store_dir) or open_without_index(config.store_dir, "literal")
        return set(Searcher(config, index).sessions(filters))
    except NotFoundError:
        return set()
