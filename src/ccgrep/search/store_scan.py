"""Search without a full-text index: reads every turn of the store.

The scan is the oracle of exact search: an indexed search returns the same hits.
"""

from collections.abc import Callable, Iterator

from ccgrep.errors import StoreError
from ccgrep.fulltext.document import turn_text
from ccgrep.fulltext.document_id import KINDS, hash_session_id
from ccgrep.fulltext.reader import NO_ADDRESS, StoredTurn
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.model import Entry, Turn
from ccgrep.refs import find_session
from ccgrep.search.exact_search import DEFAULT_TYPES, Candidate, encode_text
from ccgrep.search.filters import (
    matching_projects,
    passes_documents,
    passes_models,
    passes_tools,
)
from ccgrep.search.request import Filters, Place, Request
from ccgrep.search.turn_reader import TurnReader
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


class StoreScan:
    """The turns of a snapshot that pass the filters; `on_lost` gets the error for a lost turn."""

    def __init__(
        self,
        store: Store,
        filters: Filters,
        on_lost: Callable[[StoreError], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._on_lost = on_lost
        self._rows = [row for row in store.rows() if row.session.turns]
        self._filters = filters
        self._sessions = self._named_sessions()
        self._marked = filters.marked() if filters.marked is not None else None
        self._projects = matching_projects(
            lambda: (row.session.project for row in self._rows), filters
        )
        self.newest = max((e.started or 0 for _, _, e in self._entries()), default=0)

    def candidates(self, request: Request) -> Iterator[Candidate]:
        types = request.types or DEFAULT_TYPES
        for document, place, turn in self.turns():
            yield Candidate(document, place, [encode_text(turn_text(turn, kind)) for kind in types])

    def turns(self) -> Iterator[tuple[DocumentHit, Place, Turn]]:
        """Yield the turns that pass the filters, in no particular order."""
        recent = self._recent_sessions()
        for row, number, entry in self._entries():
            if recent is not None and row.session.id not in recent:
                continue
            turn = self._load_passing(row, entry)
            if turn is not None:
                yield _document_hit(row, number, entry), Place(row.session.id, number), turn

    def _entries(self) -> Iterator[tuple[Row, int, Entry]]:
        for row in self._rows:
            for number, entry in enumerate(self._store.manifest(row).entries):
                yield row, number, entry

    def _load_passing(self, row: Row, entry: Entry) -> Turn | None:
        filters = self._filters
        if not (self._passes_row(row) and _passes_entry(row, entry, filters)):
            return None
        if (marked := self._marked) is not None and (
            row.session.id not in marked.sessions and entry.turn not in marked.turns
        ):
            return None
        try:
            turn = self._store.load(entry.turn, Turn)
        except StoreError as error:
            self._on_lost(error)
            return None
        return turn if _passes_turn(turn, filters) else None

    def _passes_row(self, row: Row) -> bool:
        filters, session = self._filters, row.session
        kind = "superseded" if row.is_superseded else session.kind
        is_kept = {
            "include": True,
            "only": kind == "subagent",
            "exclude": kind not in ("subagent", "worker"),
        }
        return (
            (self._projects is None or session.project in self._projects)
            and (not filters.sources or session.source in filters.sources)
            and (self._sessions is None or session.id in self._sessions)
            and (filters.only_ids is None or session.id in filters.only_ids)
            and (filters.machines is None or filters.machines.has(session.id))
            and session.id not in filters.except_ids
            and is_kept[filters.subagents]
            and passes_documents(session, filters)
        )

    def _named_sessions(self) -> set[str] | None:
        if self._filters.sessions is None:
            return None
        titles = {row.session.id: row.session.title for row in self._rows}

        def list_ids(prefix: str) -> list[str]:
            return [id for id in titles if id.startswith(prefix)]

        return {find_session(ref, list_ids, titles.__getitem__) for ref in self._filters.sessions}

    def _recent_sessions(self) -> set[str] | None:
        if not self._filters.max_sessions:
            return None
        times: dict[str, int] = {}
        for row, _, entry in self._entries():
            if self._load_passing(row, entry) is not None:
                id = row.session.id
                times[id] = max(times.get(id, 0), _start_time(row, entry))
        ordered = [id for _, id in sorted((-time, id) for id, time in times.items())]
        return set(ordered[: self._filters.max_sessions])


def _start_time(row: Row, entry: Entry) -> int:
    return entry.started or row.session.started or 0


def _passes_entry(row: Row, entry: Entry, filters: Filters) -> bool:
    started = _start_time(row, entry)
    return (
        (filters.since is None or started >= filters.since)
        and (filters.until is None or started <= filters.until)
        and (not filters.branches or (entry.branch or row.session.branch) in filters.branches)
    )


def _passes_turn(turn: Turn, filters: Filters) -> bool:
    if filters.models:
        models = (message.model for message in turn.messages())
        if not any(passes_models(model, filters) for model in models if model):
            return False
    if filters.tools:
        return any(passes_tools(call.name, filters) for call in turn.calls())
    return True


def _document_hit(row: Row, number: int, entry: Entry) -> DocumentHit:
    kind = "superseded" if row.is_superseded else row.session.kind
    return DocumentHit(
        score=0.0,
        address=NO_ADDRESS,
        session_key=hash_session_id(row.session.id),
        parent_key=hash_session_id(row.session.parent),
        object_key=int(entry.turn.hex()[:14], 16),
        turn=number,
        kind=KINDS.index(kind),
        started=_start_time(row, entry),
    )


class StoreLookup:
    """Looks up session ids and turns in the store, in place of a full-text index."""

    def __init__(self, store: Store) -> None:
        self._turns = TurnReader(store)
        self._rows = {row.session.id: row for row in store.rows() if row.session.turns}

    def session_ids(self, prefix: str) -> list[str]:
        return [id for id in self._rows if id.startswith(prefix)]

    def stored_turn(self, session_id: str, turn: int) -> StoredTurn | None:
        row = self._rows.get(session_id)
        loaded = self._turns.turn(session_id, turn) if row is not None else None
        if row is None or loaded is None:
            return None
        session = row.session
        title = session.title if turn == 0 else ""
        texts = turn_text(loaded, "user"), turn_text(loaded, "assistant")
        return StoredTurn(session.project, session.source, title, *texts)
