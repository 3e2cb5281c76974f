"""Push the sessions of some projects to a team's server.

The server stores a batch while this process prepares the next one.

What was pushed is recorded now and then, in a hint that may be lost: the server leaves alone what
it has. So an interrupted push continues, and a repeated one writes nothing.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Struct, field

from ccgrep.errors import StoreError
from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import TextReader
from ccgrep.hashing import sha256
from ccgrep.model import Entry, Turn
from ccgrep.paths import last_name
from ccgrep.store import objects
from ccgrep.store.checksummed_file import add_checksum, read_checksummed
from ccgrep.store.manifest import Row, forgotten_key
from ccgrep.store.store import Store
from ccgrep.team.document import DocumentMaker, clean
from ccgrep.team.pushed_vectors import PushedVectors
from ccgrep.team.redacted import redact_entry, redact_session, redact_turn
from ccgrep.team.server import Server

BATCH_TURNS = 200
_BATCH_BYTES = 8_000_000
_SAVE_EVERY = 10
_DIGEST_BYTES = 8
_FORMAT = b"1"
"""Part of what identifies a pushed document: another one pushes everything again."""


class ProjectCount(Struct):
    """How much of a project was or would be pushed."""

    sessions: int = 0
    turns: int = 0
    bytes: int = 0
    redactions: int = 0


class TeamReport(Struct):
    """What a push did, or with a dry run would do, by project."""

    projects: dict[str, ProjectCount] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)  # sessions that the server has forgotten
    forgotten: int = 0
    lost: int = 0


class _Pushed(Struct, array_like=True):
    """What the server has of a session: a hash of what all turns share, and one for each turn.

    As long as the manifest and the state of the vectors are the same, so are the turns.
    """

    manifest: bytes
    shared: bytes
    turns: bytes
    vectors: bytes = b""


def project_name(path: str) -> str:
    """Return the name under which a project is pushed: the last part of its path."""
    return clean(last_name(path)) or "-"


def chosen_rows(store: Store, patterns: tuple[str, ...]) -> list[Row]:
    """Return the sessions of this machine that belong to one of the projects."""
    return [
        row
        for row in store.rows()
        if row.session.turns
        and row.provenance is None
        and any(fnmatchcase(project_name(row.session.project), one) for one in patterns)
    ]


class TeamPush:
    """One push. `state_path` is the file with what was pushed, `save` writes it."""

    def __init__(
        self,
        store: Store,
        server: Server | None,
        state_path: str,
        save: Callable[[bytes], None],
        on_progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> None:
        """Without a server, only count."""
        self._store = store
        self._server = server
        self._save = save
        self._on_progress = on_progress
        data = read_checksummed(state_path)
        self._pushed = msgspec.msgpack.decode(data, type=dict[str, _Pushed]) if data else {}
        self._maker = DocumentMaker(TextReader.analyzers())
        self.report = TeamReport()
        self._batch: list[dict[str, Any]] = []
        self._batch_turns = self._batch_bytes = self._batches = 0
        self._complete: dict[str, _Pushed] = {}  # with the batch that is being made
        self._sent: dict[str, _Pushed] | None = None  # with the batch that the server works on
        self._vectors = PushedVectors(store.directory, self._takes_vectors)

    def run(self, patterns: tuple[str, ...]) -> TeamReport:
        self._forget()
        rows = chosen_rows(self._store, patterns)
        changed = [
            (row, numbers) for row in rows if (numbers := self._turns_to_push(row)) is not None
        ]
        total = sum(len(numbers) for _, numbers in changed)
        done = 0
        for row, numbers in changed:
            for _ in self._add(row, numbers):
                done += 1
                self._on_progress(done, total)
        self._flush()
        self._confirm()
        self._write_state()
        return self.report

    def _takes_vectors(self) -> bool:
        """Return whether the server can compare vectors."""
        if self._server is None:
            return False
        (result,) = self._server.call("put", {"sessions": []})
        return bool(result["has_passages"])

    def _forget(self) -> None:
        """Make the server forget the sessions that were forgotten here since they were pushed."""
        gone = set(self._store.snapshot().forgotten)
        ids = [id for id in self._pushed if forgotten_key(id) in gone]
        if not ids or self._server is None:
            return
        (result,) = self._server.call("forget", {"sessions": ids})
        self.report.forgotten = len(result["sessions"])
        for id in ids:
            del self._pushed[id]
        self._write_state()

    def _turns_to_push(self, row: Row) -> list[int] | None:
        """Return the numbers of the turns to push, or None if the server has the session."""
        known = self._pushed.get(row.session.id)
        same = (row.manifest, _shared_digest(row), self._vectors.state)
        if known and (known.manifest, known.shared, known.vectors) == same:
            return None
        state = self._state(row)
        turns = _split(state.turns)
        if known is None or known.shared != state.shared:
            return list(range(len(turns)))
        before = _split(known.turns)
        changed = [n for n, one in enumerate(turns) if n >= len(before) or before[n] != one]
        if not changed and known.manifest == row.manifest:
            self._pushed[row.session.id] = state
            return None
        return changed

    def _state(self, row: Row) -> _Pushed:
        digests = [self._entry_digest(entry) for entry in self._store.manifest(row).entries]
        return _Pushed(row.manifest, _shared_digest(row), b"".join(digests), self._vectors.state)

    def _entry_digest(self, entry: Entry) -> bytes:
        """Return a hash of what a document has of an entry, and of how many vectors it has."""
        values = (
            entry.turn, entry.started, entry.ended, entry.cwd, entry.branch, entry.is_rolled_back,
            self._vectors.count(entry.turn),
        )  # fmt: skip
        return sha256(repr(values).encode("utf-8", "replace")).digest()[:_DIGEST_BYTES]

    def _add(self, row: Row, numbers: list[int]) -> Iterator[None]:
        """Add a session to the batch, in parts if it is long."""
        session, entries = redact_session(row.session), self._store.manifest(row).entries
        name = project_name(session.project)
        count = self.report.projects.setdefault(name, ProjectCount())
        count.sessions += 1
        kind = KINDS.index("superseded" if row.is_superseded else session.kind)
        header = {
            "session": session.id,
            "project": name,
            "parent": session.parent,
            "ended": session.ended,
            "is_superseded": row.is_superseded,
            "turns": len(entries),
            "kind": kind,
            "source": session.source,
            "path": clean(session.project),
            "data": b64encode(objects.encode(session)).decode(),
        }
        documents: list[dict[str, Any]] = []
        self._batch.append({**header, "documents": documents})
        for number in numbers:
            yield
            try:
                turn, redactions = redact_turn(self._store.load(entries[number].turn, Turn))
            except StoreError:
                self.report.lost += 1
                continue
            entry = redact_entry(entries[number])
            made = self._maker.make(session, number, entry, turn, row.is_superseded)
            documents.append(made)
            if self._server is not None:
                self._server.advance()
            size = len(made["body"]) * 3 // 4
            count.turns += 1
            count.bytes += size
            count.redactions += redactions
            self._batch_turns += 1
            self._batch_bytes += size + len(made["said"]) + len(made["words"])
            if self._batch_turns >= BATCH_TURNS or self._batch_bytes >= _BATCH_BYTES:
                self._flush()
                documents = []
                self._batch.append({**header, "documents": documents})
        self._complete[session.id] = self._state(row)

    def _flush(self) -> None:
        """Send the batch, after the server has confirmed the one before."""
        if self._batch and self._server is not None:
            self._vectors.add_to([one for part in self._batch for one in part["documents"]])
            self._confirm()
            self._server.start("put", {"sessions": self._batch})
            self._sent = self._complete
        self._complete = {}
        self._batch = []
        self._batch_turns = self._batch_bytes = 0

    def _confirm(self) -> None:
        """Wait until the server has the batch that was sent, and record what it completes."""
        if self._server is None or self._sent is None:
            return
        (result,) = self._server.finish()
        self.report.refused += [id for id in result["refused"] if id not in self.report.refused]
        self._pushed.update(self._sent)
        self._sent = None
        self._batches += 1
        if self._batches % _SAVE_EVERY == 0:
            self._write_state()

    def _write_state(self) -> None:
        if self._server is not None:
            self._save(add_checksum(msgspec.msgpack.encode(self._pushed)))


def _split(digests: bytes) -> list[bytes]:
    return [digests[at : at + _DIGEST_BYTES] for at in range(0, len(digests), _DIGEST_BYTES)]


def _shared_digest(row: Row) -> bytes:
    one = row.session
    values = (one.kind, row.is_superseded, one.project, one.title, one.parent)
    return sha256(_FORMAT + repr(values).encode("utf-8", "replace")).digest()[:_DIGEST_BYTES]
