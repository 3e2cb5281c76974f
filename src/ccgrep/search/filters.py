"""Filters as queries: what must hold of a document, and what must not."""

from __future__ import annotations

from ccgrep.errors import NotFoundError, RefError
from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Query, Stored, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.search.request import Filters
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_RECENT_STEP = 1000


class Texts(Protocol):
    """What showing hits needs of a text index."""

    def values(self, field: str, prefix: str, /) -> dict[str, int]: ...

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
    if filters.project is not None:
        yield reader.any_value("project", _projects(reader, filters.project))
    if filters.here is not None:
        yield reader.any_value("project", _projects_at(reader, filters.here))
    if filters.since is not None or filters.until is not None:
        yield reader.between(filters.since, filters.until)
    if filters.sessions is not None:
        ids = [find_session(reader, ref) for ref in filters.sessions]
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
        yield reader.any_value("model", _containing(reader, "model", filters.model))
    if filters.tool is not None:
        yield _tool(reader, filters.tool)


def _projects(reader: TextReader, part: str) -> list[str]:
    found = _containing(reader, "project", part)
    if not found:
        raise NotFoundError(f"No sessions found for project {one_line(part)}")
    return found


def _projects_at(reader: TextReader, directory: str) -> list[str]:
    found = [path for path in reader.values("project") if path and is_related(path, directory)]
    if not found:
        raise NotFoundError(f"No sessions found for project {one_line(directory)}")
    return found


def is_related(project: str, directory: str) -> bool:
    """Whether one is the other, or lies below it."""
    here, there = directory.rstrip("/") + "/", project.rstrip("/") + "/"
    return bool(project) and (here.startswith(there) or there.startswith(here))


def _containing(reader: TextReader, field: str, part: str) -> list[str]:
    wanted = part.lower()
    return [value for value in reader.values(field) if wanted in value.lower()]


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


def find_session(reader: TextReader, ref: str) -> str:
    """The id of the session that a REF or a record line begins with."""
    prefix = ref.strip().partition(":")[0]
    return chosen_session(ref, prefix, reader.values("session", prefix) if prefix else ())


def chosen_session(ref: str, prefix: str, ids: Collection[str]) -> str:
    """The one of `ids`, which begin with `prefix`, that is meant."""
    if prefix in ids:
        return prefix
    if len(ids) == 1:
        return next(iter(ids))
    if ids:
        names = "\n".join(f"  {id}" for id in sorted(ids)[:10])
        raise RefError(f"{one_line(prefix)} is ambiguous, it could be:\n{names}")
    raise RefError(f"{one_line(ref)} names no session that has turns: see `ccgrep list`")


def _shared(a: str, b: str) -> int:
    """How many characters two ids begin with that are the same."""
    pairs = zip(a, b, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))


def short_ids(reader: Texts, ids: Iterable[str], shortest: int = 8) -> dict[str, str]:
    """For each id its shortest prefix of 8 or more characters that no other session has."""
    families: dict[str, list[str]] = {}
    short = {}
    for id in set(ids):
        prefix = id[:shortest]
        if prefix not in families:
            families[prefix] = sorted({*reader.values("session", prefix), id})
        family = families[prefix]
        at = family.index(id)
        # In alphabetical order no other id has more in common with it than its neighbours.
        near = (*family[max(at - 1, 0) : at], *family[at + 1 : at + 2])
        shared = max((_shared(id, other) for other in near), default=0)
        short[id] = id[: max(shared + 1, shortest)]
    return short
