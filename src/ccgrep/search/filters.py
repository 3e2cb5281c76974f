"""Filters as queries: what must hold of a document, and what must not."""

from __future__ import annotations

from ccgrep.errors import NotFoundError
from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Query, Stored, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.refs import find_session
from ccgrep.search.request import Filters
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

_RECENT_STEP = 1000


class TurnLookup(Protocol):
    """Looks up what a hit's output needs, in the full-text index or in the store."""

    def session_ids(self, prefix: str, /) -> Collection[str]: ...

    def stored(self, session: str, turn: int, /) -> Stored | None: ...


class Scope(NamedTuple):
    must: list[Query]
    never: list[Query]


def scope(reader: TextReader, filters: Filters) -> Scope:
    """The documents that the filters let pass."""
    must = [*_places(reader, filters), *_values(reader, filters)]
    never: list[Query] = []
    if filters.subagents == "only":
        must.append(reader.term("kind", KINDS.index("subagent")))
    elif filters.subagents == "exclude":
        never += [reader.term("kind", KINDS.index(kind)) for kind in ("subagent", "worker")]
    if filters.without:
        never.append(reader.any_value("session", filters.without))
    if filters.max_sessions:
        must.append(_most_recent(reader, Scope(must, never), filters.max_sessions))
    return Scope(must, never)


def _places(reader: TextReader, filters: Filters) -> Iterator[Query]:
    """Where and when."""
    projects = matching_projects(lambda: reader.values("project"), filters)
    if projects is not None:
        yield reader.any_value("project", projects)
    if filters.since is not None or filters.until is not None:
        yield reader.between(filters.since, filters.until)
    if filters.sessions is not None:
        ids = [find_session(ref, reader.session_ids, reader.title) for ref in filters.sessions]
        yield reader.any_value("session", ids)
    if filters.only is not None:
        yield reader.any_value("session", filters.only)


def _values(reader: TextReader, filters: Filters) -> Iterator[Query]:
    """What it was done with."""
    if filters.source is not None:
        yield reader.term("source", filters.source)
    if filters.branch is not None:
        yield reader.term("branch", filters.branch)
    if filters.model is not None:
        models = [name for name in reader.values("model") if _contains(name, filters.model)]
        yield reader.any_value("model", models)
    if filters.tool is not None:
        yield _tool(reader, filters.tool)


def matching_projects(
    list_projects: Callable[[], Iterable[str]], filters: Filters
) -> set[str] | None:
    """Return the projects that pass the filters, or None if no filter concerns projects."""
    if filters.project is None and filters.here is None:
        return None
    known = set(list_projects())
    passing = known
    for typed, is_match in ((filters.project, _contains), (filters.here, _is_related)):
        if typed is None:
            continue
        matching = {path for path in known if is_match(path, typed)}
        if not matching:
            raise NotFoundError(
                f"no sessions found for project '{one_line(typed)}': "
                "`ccgrep list` shows the projects"
            )
        passing = passing & matching
    return passing


def _contains(value: str, part: str) -> bool:
    return part.lower() in value.lower()


def _is_related(project: str, directory: str) -> bool:
    """Return whether one path is the other or lies below it."""
    here, there = directory.rstrip("/") + "/", project.rstrip("/") + "/"
    return bool(project) and (here.startswith(there) or there.startswith(here))


def _tool(reader: TextReader, name: str) -> Query:
    if name.lower() == "any":
        return reader.any_value("tool_name", reader.values("tool_name"))
    return reader.term("tool_name", name.lower())


def _most_recent(reader: TextReader, scope: Scope, number: int) -> Query:
    """The sessions of the most recent turns."""
    query = reader.filtered(reader.everything(), scope.must, scope.never)
    limit = _RECENT_STEP
    while True:
        found = reader.search(query, limit, order_by="started")
        first = {hit.session_key: hit for hit in reversed(found)}
        times = sorted((hit.started for hit in first.values()), reverse=True)
        is_all = len(found) < limit
        # Sessions that are equally recent must all be seen, to be told apart by their ids.
        if is_all or (len(times) >= number and found[-1].started < times[number - 1]):
            break
        limit *= 8
    ids = [(-hit.started, reader.place(hit.address)[0]) for hit in first.values()]
    return reader.any_value("session", [id for _, id in sorted(ids)[:number]])
