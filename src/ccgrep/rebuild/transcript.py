"""Makes the transcript of a stored session, for its own client or for the other one."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.errors import NotFoundError, StoreError
from ccgrep.kinds import SourceName
from ccgrep.model import Entry, Session, Turn
from ccgrep.rebuild.claude_transcript import claude_path, write_claude
from ccgrep.rebuild.codex_rollout import codex_path, write_codex
from ccgrep.rebuild.record_values import make_blob_reader, make_uuid
from ccgrep.rebuild.translate import translate_turn
from ccgrep.sources.registry import find_source
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store

History = list[tuple[Entry, Turn]]
_MAX_FORKS = 50


class Transcript(Struct, frozen=True):
    """A transcript that a client can resume, and its path below the client's root."""

    session: Session
    path: str
    content: bytes


def rebuild_transcript(store: Store, row: Row) -> Transcript:
    """Return a transcript of a session, made from its turns.

    Indexing it changes nothing in the store. Raise NotFoundError if a turn is not stored.
    """
    session = replace(row.session, id=row.base_id)
    history = _read_history(store, row)
    entries, turns = [entry for entry, _ in history], [turn for _, turn in history]
    read_blob = make_blob_reader(store)
    if session.source == "claude_code":
        content = write_claude(session, entries, turns, read_blob)
        return Transcript(session, claude_path(session), content)
    if session.source != "codex":
        raise NotFoundError(
            f"cannot rebuild {row.session.id}, ccgrep writes no transcripts of "
            f"{find_source(session.source).title}: use `ccgrep resume --with claude`"
        )
    inherited = _read_inherited(store, row)
    content = write_codex(session, entries, turns, read_blob, inherited=inherited)
    return Transcript(session, codex_path(session), content)


def transcript_path(session: Session) -> str:
    """Return the path below the client's root where it expects a session's transcript."""
    return claude_path(session) if session.source == "claude_code" else codex_path(session)


def hand_over(
    store: Store, row: Row, target: SourceName, directory: str, number: int = 0
) -> Transcript:
    """Return the transcript of a new session of `target` with the history of a stored one.

    `directory` is where the user resumes it. The new id follows from the session, its turns and
    `number`.
    """
    history = [*_read_inherited(store, row), *_read_history(store, row)]
    history = [(entry, turn) for entry, turn in history if not entry.is_rolled_back]
    origin = row.session.id
    entries = [entry for entry, _ in history]
    turns = [turn for _, turn in history]
    if row.session.source != target:
        turns = [translate_turn(turn, target) for turn in turns]
    session = Session(
        id=make_uuid("hand over", origin, target, number, *(entry.turn.hex() for entry in entries)),
        source=target,
        cwd=directory,
        branch=row.session.branch,
        title=row.session.title,
        title_origin=row.session.title_origin,
        started=row.session.started,
    )
    read_blob = make_blob_reader(store)
    if target == "claude_code":
        content = write_claude(session, entries, turns, read_blob, origin)
        return Transcript(session, claude_path(session), content)
    content = write_codex(session, entries, turns, read_blob, origin)
    return Transcript(session, codex_path(session), content)


def _read_history(store: Store, row: Row) -> History:
    """Return the turns of a session with their entries."""
    id = row.session.id
    if row.session.is_prompt_only:
        raise NotFoundError(
            f"cannot rebuild {id}, only its prompts are known: run `ccgrep show {id}`"
        )
    if row.session.kind in ("worker", "document"):
        raise NotFoundError(f"cannot rebuild {id}, it is a {row.session.kind}")
    return _load(store, store.manifest(row).entries, id)


def _load(store: Store, entries: Sequence[Entry], id: str) -> History:
    try:
        return [(entry, store.load(entry.turn, Turn)) for entry in entries]
    except StoreError:
        raise NotFoundError(f"cannot rebuild {id}, a turn is damaged: run `ccgrep fsck`") from None


def _read_inherited(store: Store, row: Row) -> History:
    """Return the turns that a fork of Codex continues, which its own rollout does not repeat."""
    history: History = []
    for _ in range(_MAX_FORKS):
        started = row.session.started
        original = store.row(row.session.forked_from) if row.session.forked_from else None
        if row.session.source != "codex" or original is None or started is None:
            break
        own = {entry.turn for entry in store.manifest(row).entries}
        before = [
            entry
            for entry in store.manifest(original).entries
            if (entry.started or 0) < started and not entry.is_rolled_back and entry.turn not in own
        ]
        history = [*_load(store, before, original.session.id), *history]
        row = original
    return history
