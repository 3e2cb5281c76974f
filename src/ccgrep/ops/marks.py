"""The mark verb: put tags and notes on turns and sessions, remove them and list them."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import NotFoundError, RefError, UsageError
from ccgrep.fulltext.sync import sync
from ccgrep.model import ObjectId, Session
from ccgrep.search.index_opener import open_current_reader
from ccgrep.store.commit import Commit
from ccgrep.store.lifecycle import open_store, read_consistently
from ccgrep.store.manifest import Mark, Row
from ccgrep.store.marks import Marked, select_marked
from ccgrep.store.refs import require_features
from ccgrep.store.store import Store
from ccgrep.text import one_line

_MAX_TAG = 64
_MAX_NOTE = 2000
Warn = Callable[[str], None]


class ListedMark(Struct, frozen=True):
    """A mark with the session that it was put on, or None if that is not in the store."""

    mark: Mark
    short_id: str
    session: Session | None = None


def mark(
    config: Config,
    refs: Sequence[str],
    tags: Collection[str],
    note: str | None,
    wait_s: float = 10.0,
    warn: Warn = lambda _: None,
) -> list[ListedMark]:
    """Add tags to what the REFs name, and replace its note if one is given."""
    for tag in tags:
        _check_tag(tag)
    if note is not None and len(note) > _MAX_NOTE:
        raise UsageError(f"the note has {len(note)} characters: use at most {_MAX_NOTE}")
    now_ms = time.time_ns() // 1_000_000

    def change(old: Mark) -> Mark:
        kept = old.note if note is None else note
        return replace(old, tags=tuple(sorted({*old.tags, *tags})), note=kept, marked=now_ms)

    return _change(config, refs, change, wait_s, warn)


def unmark(
    config: Config,
    refs: Sequence[str],
    tags: Collection[str],
    wait_s: float = 10.0,
    warn: Warn = lambda _: None,
) -> list[ListedMark]:
    """Remove tags from what the REFs name, or whole marks. Return what changed.

    Without its last tag, a mark goes, too, unless it has a note.
    """

    def change(old: Mark) -> Mark | None:
        left = tuple(tag for tag in old.tags if tag not in tags)
        return replace(old, tags=left) if tags and (left or old.note) else None

    return _change(config, refs, change, wait_s, warn, removed=frozenset(tags))


def toggle(config: Config, ref: str) -> None:
    """Mark a turn, or remove a mark without tags and note: nobody loses text by one key."""

    def change(old: Mark) -> Mark | None:
        if not old.marked:
            return replace(old, marked=time.time_ns() // 1_000_000)
        return old if old.tags or old.note else None

    _change(config, [ref], change, 10.0, lambda _: None)


def list_marks(config: Config, tags: Sequence[str] = ()) -> list[ListedMark]:
    """Return the marks, the newest first."""

    def read(store: Store) -> list[ListedMark]:
        marks = store.snapshot().marks
        return _list_marks(sorted(marks, key=lambda mark: -mark.marked), list(store.rows()))

    found = read_consistently(config.store_dir, read)
    return [one for one in found if not tags or any(tag in one.mark.tags for tag in tags)]


def marked_places(config: Config) -> set[tuple[str, int]]:
    """Return the places of the turns that are marked, also in forks."""
    marks = read_consistently(config.store_dir, lambda store: store.snapshot().marks)
    turns = [mark for mark in marks if mark.turn]
    places = {(mark.session, mark.number) for mark in turns}
    reader = open_current_reader(config.store_dir) if turns else None
    if reader is not None:
        hits = reader.search(reader.with_turns([_key(mark.turn) for mark in turns]))
        places |= {reader.place(hit.address) for hit in hits}
    return places


def tag_filter(config: Config, tags: Sequence[str]) -> Callable[[], Marked]:
    """Return a function that reads which turns and sessions have one of the tags."""
    return partial(_select, config.store_dir, tuple(tags))


def _select(store_dir: str, tags: Sequence[str]) -> Marked:
    marks = read_consistently(store_dir, lambda store: store.snapshot().marks)
    if not marks:
        raise NotFoundError("there are no marks: run `ccgrep mark REF TAG`")
    known = {"any", *(tag for mark in marks for tag in mark.tags)}
    unknown = [tag for tag in tags if tag not in known]
    if len(unknown) == len(tags):
        raise NotFoundError(
            f"nothing has the tag '{one_line(unknown[0])}': run `ccgrep mark` to list the marks"
        )
    return select_marked(marks, tags)


def _check_tag(tag: str) -> None:
    is_plain = tag == one_line(tag) and not tag.startswith("-") and "," not in tag
    if not tag or " " in tag or len(tag) > _MAX_TAG or tag == "any" or not is_plain:
        raise UsageError(
            f"invalid tag '{one_line(tag)}': use a word without spaces and commas, of at most "
            f"{_MAX_TAG} characters, but not `any`"
        )


def _change(
    config: Config,
    refs: Sequence[str],
    change: Callable[[Mark], Mark | None],
    wait_s: float,
    warn: Warn,
    removed: frozenset[str] | None = None,
) -> list[ListedMark]:
    """Replace the marks of what the REFs name, and return the new ones, or those removed.

    With `removed`, only marks that have one of these tags change; if it is empty, all do.
    """
    store = open_store(config.store_dir)
    changed: list[Mark] = []
    with store.lock(wait_s, warn):
        rows = list(store.rows())
        targets = [_target(config, store, rows, ref) for ref in refs]
        with Commit(store) as commit:
            marks = list(commit.snapshot.marks)
            for target in targets:
                known = next((mark for mark in marks if _is_same(mark, target)), None)
                if removed is not None and not _can_lose(known, removed):
                    continue
                new = change(known or target)
                marks = [mark for mark in marks if mark is not known]
                marks += [new] if new is not None else []
                changed.append(new or known or target)
            if marks:
                require_features(store.directory, ["marks"])
            commit.commit(time.time_ns() // 1_000_000, marks=tuple(marks))
        sync(store)
    return _list_marks(changed, rows)


def _can_lose(mark: Mark | None, tags: frozenset[str]) -> bool:
    """Return whether a mark has one of these tags; without tags, whether there is a mark."""
    return mark is not None and (not tags or not tags.isdisjoint(mark.tags))


def _is_same(mark: Mark, other: Mark) -> bool:
    """Return whether two marks are of the same turn, or of the same session."""
    return mark.turn == other.turn and (bool(mark.turn) or mark.session == other.session)


def _target(config: Config, store: Store, rows: Sequence[Row], ref: str) -> Mark:
    """Return an empty mark of what a REF names."""
    found = refs.find(store, rows, ref)
    if found.object is not None:
        session, number = _place_of(config, found.object)
        return Mark(session, found.object, number)
    assert found.row is not None
    if found.turn is None:
        return Mark(found.row.session.id)
    entry = store.manifest(found.row).entries[found.turn]
    return Mark(found.row.session.id, entry.turn, found.turn)


def _place_of(config: Config, turn: ObjectId) -> tuple[str, int]:
    reader = open_current_reader(config.store_dir)
    hits = reader.search(reader.with_turns([_key(turn)])) if reader else []
    if reader is None or not hits:
        raise RefError(f"no session has the turn '@{turn.hex()[:12]}': pass SESSION:TURN")
    newest = max(hits, key=lambda hit: (hit.started, -hit.session_key))
    return reader.place(newest.address)


def _key(turn: ObjectId) -> int:
    """Return the key of a turn in the full-text index."""
    return int.from_bytes(turn[:7])


def _list_marks(marks: Iterable[Mark], rows: Sequence[Row]) -> list[ListedMark]:
    sessions = {row.session.id: row.session for row in rows}
    short = refs.short_ids(sessions)
    return [
        ListedMark(mark, short.get(mark.session, ""), sessions.get(mark.session)) for mark in marks
    ]
