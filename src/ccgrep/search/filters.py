"""Filters as queries on the full-text index: what a document must match, and what it must not."""

from __future__ import annotations

from ccgrep.errors import NotFoundError
from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.paths import to_slashes
from ccgrep.refs import find_session
from ccgrep.search.request import Filters
from ccgrep.text import folder_name, one_line, to_nfc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ccgrep.model import Session

_FIRST_FETCH = 1000


class FilterClauses(NamedTuple):
    """Queries of which a document must match all, and queries of which it must match none."""

    must: list[Query]
    never: list[Query]
    reader: TextReader

    def apply(self, query: Query, must: Iterable[Query] = (), never: Iterable[Query] = ()) -> Query:
        """Return a query for the documents of `query` that pass these and further clauses."""
        return self.reader.combine(query, [*self.must, *must], [*self.never, *never])


def filter_clauses(reader: TextReader, filters: Filters) -> FilterClauses:
    """Return the filters as queries on documents."""
    must = list(_required_queries(reader, filters))
    never: list[Query] = []
    if filters.subagents == "only":
        must.append(reader.term("kind", KINDS.index("subagent")))
    elif filters.subagents == "exclude":
        never += [reader.term("kind", KINDS.index(kind)) for kind in ("subagent", "worker")]
    if filters.documents != "include":
        clauses = must if filters.documents == "only" else never
        clauses.append(reader.term("kind", KINDS.index("document")))
    if filters.machines is not None:
        clauses = never if filters.machines.is_except else must
        clauses.append(reader.any_value("session", filters.machines.ids))
    if filters.except_ids:
        never.append(reader.any_value("session", filters.except_ids))
    if filters.max_sessions:
        must.append(
            _most_recent_sessions(reader, FilterClauses(must, never, reader), filters.max_sessions)
        )
    return FilterClauses(must, never, reader)


def _required_queries(reader: TextReader, filters: Filters) -> Iterator[Query]:
    projects = matching_projects(lambda: reader.value_counts("project"), filters)
    if projects is not None:
        yield reader.any_value("project", projects)
    if filters.since is not None or filters.until is not None:
        yield reader.between(filters.since, filters.until)
    if filters.sessions is not None:
        ids = [find_session(ref, reader.session_ids, reader.title) for ref in filters.sessions]
        yield reader.any_value("session", ids)
    if filters.only_ids is not None:
        yield reader.any_value("session", filters.only_ids)
    if filters.marked is not None:
        marked = filters.marked()
        turns = reader.with_turns([int.from_bytes(id[:7]) for id in marked.turns])
        yield reader.any_of([reader.any_value("session", marked.sessions), turns])
    if filters.sources:
        yield reader.any_value("source", filters.sources)
    if filters.branches:
        yield reader.any_value("branch", filters.branches)
    if filters.models:
        models = [name for name in reader.value_counts("model") if passes_models(name, filters)]
        yield reader.any_value("model", models)
    if filters.tools:
        names = [name.lower() for name in filters.tools]
        is_any = "any" in names
        yield reader.any_value("tool_name", reader.value_counts("tool_name") if is_any else names)


def passes_models(name: str, filters: Filters) -> bool:
    return any(_contains(name, part) for part in filters.models)


def passes_tools(name: str, filters: Filters) -> bool:
    return any(typed.lower() in ("any", name.lower()) for typed in filters.tools)


def passes_documents(session: Session, filters: Filters) -> bool:
    if filters.documents == "include":
        return True
    return (session.kind == "document") == (filters.documents == "only")


def matching_projects(
    list_projects: Callable[[], Iterable[str]], filters: Filters
) -> set[str] | None:
    """Return the projects that pass the filters, or None if no filter concerns projects."""
    if not filters.projects and filters.here is None:
        return None
    known = set(list_projects())
    passing = known
    if filters.projects:
        passing = set().union(*(_named_projects(known, typed) for typed in filters.projects))
        _check_found(passing, "' or '".join(filters.projects))
    if filters.here is not None:
        related = {path for path in known if _is_related(path, filters.here)}
        _check_found(related, filters.here)
        passing = passing & related
    return passing


def _check_found(projects: set[str], typed: str) -> None:
    if not projects:
        raise NotFoundError(
            f"no sessions found for project '{one_line(typed)}': `ccgrep list` shows the projects"
        )


def _named_projects(known: set[str], typed: str) -> set[str]:
    """Return the projects that a value of `--project` names."""
    matching = {path for path in known if _is_named(path, typed)}
    if typed.startswith("-") or typed[1:3] == "--":
        matching |= _projects_of_folder(known, typed)
    return matching


def _is_named(project: str, part: str) -> bool:
    """Return whether a project's path contains `part`; in a Windows path, `\\` is `/`."""
    return _contains(project, part) or _contains(to_slashes(project), part.replace("\\", "/"))


def _projects_of_folder(known: set[str], typed: str) -> set[str]:
    """Return the projects whose folder name contains `typed`, else the project around it.

    Sessions that started in a subdirectory of a project have a folder of their own.
    """
    names = {path: folder_name(path) for path in known if path}
    matching = {path for path, name in names.items() if _contains(name, typed)}
    above = [name for name in names.values() if typed.startswith(f"{name}-")]
    nearest = max(above, key=len, default="")
    return matching or {path for path, name in names.items() if name == nearest}


def _contains(value: str, part: str) -> bool:
    return to_nfc(part).lower() in to_nfc(value).lower()


def _is_related(project: str, directory: str) -> bool:
    """Return whether one path is the other or lies below it."""
    here, there = (to_nfc(path).rstrip("/") + "/" for path in (directory, project))
    return bool(project) and (here.startswith(there) or there.startswith(here))


def _most_recent_sessions(reader: TextReader, clauses: FilterClauses, number: int) -> Query:
    """Return a query for the `number` sessions with the most recent turns that pass."""
    query = clauses.apply(reader.everything())
    limit = _FIRST_FETCH
    while True:
        documents = reader.search(query, limit, order_by="started")
        newest = {hit.session_key: hit for hit in reversed(documents)}
        times = sorted((hit.started for hit in newest.values()), reverse=True)
        is_all = len(documents) < limit
        # All sessions that are equally recent must be fetched, because their ids decide.
        if is_all or (len(times) >= number and documents[-1].started < times[number - 1]):
            break
        limit *= 8
    ids = [(-hit.started, reader.place(hit.address)[0]) for hit in newest.values()]
    return reader.any_value("session", [id for _, id in sorted(ids)[:number]])
