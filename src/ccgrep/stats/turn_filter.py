"""Applies the filters of a search to the columns of a tally."""

from collections.abc import Callable

import numpy as np

from ccgrep.fulltext.document_id import KINDS
from ccgrep.refs import find_session
from ccgrep.search.filters import matching_projects, passes_models, passes_tools
from ccgrep.search.request import Filters
from ccgrep.stats.column_file import Array
from ccgrep.stats.merged_tally import MergedTally


def filter_turns(tally: MergedTally, filters: Filters) -> Array:
    """Return a mask of the turns that pass the filters."""
    turns = np.ones(tally.turns, dtype=bool)
    sessions = _filter_sessions(tally, filters)
    if sessions is not None:
        turns &= sessions[tally["turn.session"]]
    if filters.marked is not None:
        marked = filters.marked()
        keys = [int.from_bytes(id[:8], "little") for id in marked.turns]
        is_marked = np.isin(tally["turn.object"], np.array(keys, dtype=np.uint64))
        in_session = _match_ids(tally["session.id"], marked.sessions)
        turns &= is_marked | in_session[tally["turn.session"]]
    started = tally["turn.started"]
    if filters.since is not None:
        turns &= started >= filters.since
    if filters.until is not None:
        turns &= started <= filters.until
    if filters.branches:
        branches = _match_words(tally, "branch", filters.branches.__contains__)
        turns &= branches[tally["turn.branch"]]
    if filters.models:
        turns &= _turns_with(tally, "model", lambda model: passes_models(model, filters))
    if filters.tools:
        turns &= _turns_with(tally, "tool", lambda tool: passes_tools(tool, filters))
    if filters.max_sessions:
        turns &= _in_latest_sessions(tally, turns, filters.max_sessions)
    return turns


def _filter_sessions(tally: MergedTally, filters: Filters) -> Array | None:
    """Return a mask of the sessions that pass, or None if all do."""
    masks: list[Array] = []
    projects = matching_projects(lambda: tally.words("project"), filters)
    if projects is not None:
        is_match = _match_words(tally, "project", projects.__contains__)
        masks.append(is_match[tally["session.project"]])
    if filters.sources:
        chosen_sources = _match_words(tally, "source", filters.sources.__contains__)
        masks.append(chosen_sources[tally["session.source"]])
    if filters.subagents == "only":
        masks.append(tally["session.kind"] == KINDS.index("subagent"))
    elif filters.subagents == "exclude":
        excluded = [KINDS.index("subagent"), KINDS.index("worker")]
        masks.append(~np.isin(tally["session.kind"], excluded))
    if filters.sessions is not None:
        masks.append(_match_refs(tally["session.id"], filters.sessions))
    if filters.only_ids is not None:
        masks.append(_match_ids(tally["session.id"], filters.only_ids))
    if filters.machines is not None:
        mask = _match_ids(tally["session.id"], filters.machines.ids)
        masks.append(~mask if filters.machines.is_except else mask)
    if filters.except_ids:
        masks.append(~_match_ids(tally["session.id"], filters.except_ids))
    return np.logical_and.reduce(masks) if masks else None


def _match_words(tally: MergedTally, kind: str, is_match: Callable[[str], bool]) -> Array:
    """Return a mask of the words of a kind."""
    return np.array([is_match(word) for word in tally.words(kind)], dtype=bool)


def _turns_with(tally: MergedTally, table: str, is_match: Callable[[str], bool]) -> Array:
    """Return a mask of the turns that have a row with a matching name in `table`."""
    rows = _match_words(tally, table, is_match)[tally[f"{table}.name"]]
    turns = np.zeros(tally.turns, dtype=bool)
    turns[tally[f"{table}.turn"][rows]] = True
    return turns


def _match_ids(ids: Array, chosen: frozenset[str]) -> Array:
    mask: Array = np.isin(ids, [id.encode() for id in chosen] or [b""])
    return mask


def _match_refs(ids: Array, refs: tuple[str, ...]) -> Array:
    mask = np.zeros(len(ids), dtype=bool)
    for ref in refs:
        mask |= ids == find_session(ref, lambda prefix: _ids_with_prefix(ids, prefix)).encode()
    return mask


def _ids_with_prefix(ids: Array, prefix: str) -> list[str]:
    return [id.decode() for id in ids[np.char.startswith(ids, prefix.encode())].tolist()]


def _in_latest_sessions(tally: MergedTally, turns: Array, count: int) -> Array:
    """Return a mask of the turns in the `count` sessions with the latest of `turns`."""
    session, started = tally["turn.session"][turns], tally["turn.started"][turns]
    latest = np.full(tally.sessions, np.iinfo(np.int64).min)
    np.maximum.at(latest, session, started)
    rows = np.unique(session)
    order = np.lexsort((tally["session.id"][rows], -latest[rows]))
    mask = np.zeros(len(latest), dtype=bool)
    mask[rows[order[:count]]] = True
    in_latest: Array = mask[tally["turn.session"]]
    return in_latest
