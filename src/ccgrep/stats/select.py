"""Which turns do the filters let pass? The same ones as in a search, by columns."""

from collections.abc import Callable

import numpy as np

from ccgrep.fulltext.document_id import KINDS
from ccgrep.refs import find_session
from ccgrep.search.filters import matching_projects
from ccgrep.search.request import Filters
from ccgrep.stats.columns import Array
from ccgrep.stats.tables import Tables
from ccgrep.stats.tally import SOURCES


def selected(tables: Tables, filters: Filters) -> Array:
    """A mask of the turns that pass."""
    turns = np.ones(tables.turns, dtype=bool)
    sessions = _sessions(tables, filters)
    if sessions is not None:
        turns &= sessions[tables["turn.session"]]
    started = tables["turn.started"]
    if filters.since is not None:
        turns &= started >= filters.since
    if filters.until is not None:
        turns &= started <= filters.until
    if filters.branch is not None:
        on_branch = _named(tables, "branch", lambda word: word == filters.branch)
        turns &= on_branch[tables["turn.branch"]]
    if filters.model is not None:
        wanted = filters.model.lower()
        turns &= _having(tables, "model", lambda word: wanted in word.lower())
    if filters.tool is not None:
        tool = filters.tool.lower()
        turns &= _having(tables, "tool", lambda word: tool in ("any", word.lower()))
    if filters.max_sessions:
        turns &= _most_recent(tables, turns, filters.max_sessions)
    return turns


def _sessions(tables: Tables, filters: Filters) -> Array | None:
    """A mask of the sessions that pass; `None` if all do."""
    masks: list[Array] = []
    projects = matching_projects(lambda: tables.words("project"), filters)
    if projects is not None:
        masks.append(_named(tables, "project", projects.__contains__)[tables["session.project"]])
    if filters.source is not None:
        masks.append(tables["session.source"] == SOURCES.index(filters.source))
    if filters.subagents == "only":
        masks.append(tables["session.kind"] == KINDS.index("subagent"))
    elif filters.subagents == "exclude":
        served = [KINDS.index("subagent"), KINDS.index("worker")]
        masks.append(~np.isin(tables["session.kind"], served))
    if filters.sessions is not None:
        masks.append(_by_refs(tables, filters.sessions))
    if filters.only_ids is not None:
        masks.append(_by_ids(tables, filters.only_ids))
    if filters.except_ids:
        masks.append(~_by_ids(tables, filters.except_ids))
    return np.logical_and.reduce(masks) if masks else None


def _named(tables: Tables, kind: str, holds: Callable[[str], bool]) -> Array:
    """A mask of the words of a kind."""
    return np.array([holds(word) for word in tables.words(kind)], dtype=bool)


def _having(tables: Tables, table: str, holds: Callable[[str], bool]) -> Array:
    """A mask of the turns that have a row in `table` whose name holds."""
    rows = _named(tables, table, holds)[tables[f"{table}.name"]]
    turns = np.zeros(tables.turns, dtype=bool)
    turns[tables[f"{table}.turn"][rows]] = True
    return turns


def _by_ids(tables: Tables, ids: frozenset[str]) -> Array:
    mask: Array = np.isin(tables["session.id"], [id.encode() for id in ids] or [b""])
    return mask


def _by_refs(tables: Tables, refs: tuple[str, ...]) -> Array:
    ids = tables["session.id"]
    mask = np.zeros(len(ids), dtype=bool)
    for ref in refs:
        mask |= ids == find_session(ref, lambda prefix: _ids_with_prefix(ids, prefix)).encode()
    return mask


def _ids_with_prefix(ids: Array, prefix: str) -> list[str]:
    return [id.decode() for id in ids[np.char.startswith(ids, prefix.encode())].tolist()]


def _most_recent(tables: Tables, turns: Array, number: int) -> Array:
    """A mask of the turns of the sessions that had the most recent of `turns`."""
    session, started = tables["turn.session"][turns], tables["turn.started"][turns]
    latest = np.full(len(tables["session.kind"]), np.iinfo(np.int64).min)
    np.maximum.at(latest, session, started)
    rows = np.unique(session)
    order = np.lexsort((tables["session.id"][rows], -latest[rows]))
    mask = np.zeros(len(latest), dtype=bool)
    mask[rows[order[:number]]] = True
    recent: Array = mask[tables["turn.session"]]
    return recent
