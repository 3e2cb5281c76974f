"""Maps the turns of a rebuilt transcript back to the stored turns that it was made from.

A transcript may claim any stored turn. The claim counts only if the turn, written again, has the
prompt, texts, notes and calls that were read. So a forged claim gains nothing but thinking and
outputs of a turn whose content and id its author knew.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.kinds import SourceName
from ccgrep.model import Entry, Message, ObjectId, Session, Step, Turn
from ccgrep.rebuild.form import list_content, make_form
from ccgrep.rebuild.translate import translate_turn
from ccgrep.sources.reading import SessionReading, add_totals
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row

_KEPT_FIELDS = (
    *("parent", "forked_from", "forked_at", "continued_in", "agent", "branch", "slug"),
    *("cost_usd", "costs", "summaries"),
)
"""What a rebuilt transcript does not say about its session."""


def map_back(reading: SessionReading, rows: Iterable[Row], commit: Commit) -> SessionReading:
    """Return a reading with stored turns in place of those that were rebuilt from them.

    `rows` are the stored sessions with the same id.
    """
    entries = list(reading.entries)
    known = [(row, commit.manifest(row).entries) for row in rows]
    for number, claim in reading.claims:
        stored = _load_stored(entries[number], claim, reading.session.source, commit)
        if stored is not None:
            before = [old[number] for _, old in known if number < len(old)]
            turn = commit.put("turn", stored)
            entries[number] = _merge_entries(entries[number], stored, turn, claim, before)
    session = reading.session
    for row, old in known:
        if _is_prefix(old, entries):
            session = _keep_fields(row.session, session)
            break
    return replace(
        reading,
        session=add_totals(session, entries, reading.bad),
        entries=tuple(entries),
    )


def _load_stored(entry: Entry, claim: ObjectId, source: SourceName, commit: Commit) -> Turn | None:
    try:
        return find_stored(commit.load_turn(claim), commit.load_turn(entry.turn), source)
    except StoreError:
        return None


def find_stored(stored: Turn, found: Turn, source: SourceName) -> Turn | None:
    """Return the stored turn with what the client added to it, or None if `found` is another one.

    `found` was read in a transcript of `source`, which may have been handed over.
    """
    content = list_content(found)
    for turn in (stored, translate_turn(stored, source)):
        expected = list_content(make_form(turn, source))
        if content[: len(expected)] == expected:
            added = _take_last(found.steps, len(content) - len(expected))
            return replace(stored, steps=(*stored.steps, *added))
    return None


def _take_last(steps: Sequence[Step], count: int) -> list[Step]:
    """Return the last steps, which have `count` notes and parts."""
    taken: list[Step] = []
    for step in reversed(steps):
        if count <= 0:
            break
        if isinstance(step, Message):
            taken.insert(0, replace(step, parts=step.parts[-count:]))
            count -= len(step.parts)
        else:
            taken.insert(0, step)
            count -= 1
    return taken


def _merge_entries(
    entry: Entry, turn: Turn, id: ObjectId, claim: ObjectId, before: Iterable[Entry]
) -> Entry:
    """Return the entry of a stored turn, with what is known of it beyond the transcript."""
    for old in before:
        if old.turn == id:
            return _add_records(old, entry)
        if old.turn == claim or (entry.uuids and entry.uuids in old.uuids):
            return _add_records(_count_parts(replace(old, turn=id), turn), entry)
    return _count_parts(replace(entry, turn=id), turn)


def _add_records(old: Entry, new: Entry) -> Entry:
    """Return the old entry with the records of the new one."""
    keys = {usage.key for usage in old.usage}
    known = {old.uuids[i : i + 16] for i in range(0, len(old.uuids), 16)}
    uuids = (new.uuids[i : i + 16] for i in range(0, len(new.uuids), 16))
    return replace(
        old,
        start=new.start,
        end=new.end,
        ended=new.ended if old.ended is None else max(old.ended, new.ended or 0),
        usage=(*old.usage, *(usage for usage in new.usage if usage.key not in keys)),
        uuids=old.uuids + b"".join(uuid for uuid in uuids if uuid not in known),
        is_open=new.is_open,
    )


def _count_parts(entry: Entry, turn: Turn) -> Entry:
    messages = len(turn.messages()) + bool(turn.prompt or turn.attached)
    return replace(entry, messages=messages, tools=len(turn.calls()))


def _is_prefix(old: Sequence[Entry], new: Sequence[Entry]) -> bool:
    ids = [entry.turn for entry in new]
    return bool(old) and [entry.turn for entry in old] == ids[: len(old)]


def _keep_fields(old: Session, new: Session) -> Session:
    """Return a session with what is known of it beyond its rebuilt transcript."""
    kept = {name: getattr(old, name) for name in _KEPT_FIELDS if not getattr(new, name)}
    if new.title_origin == "prompt":
        kept |= {"title": old.title, "title_origin": old.title_origin}
    return replace(
        new,
        kind=old.kind,
        models=tuple(dict.fromkeys((*old.models, *new.models))),
        versions=tuple(dict.fromkeys((*old.versions, *new.versions))),
        **kept,
    )
