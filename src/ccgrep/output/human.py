"""Results for people: on a terminal, or read line by line in a pipe.

Everything that comes from a transcript passes `text` before it is put together here.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from ccgrep.ingest.run import IndexReport
from ccgrep.model import Blob, Message, Note, Session, Text, Thinking, Turn
from ccgrep.ops.index import Status
from ccgrep.ops.secrets import Found
from ccgrep.ops.sessions import Listed, Shown, ShownTurn
from ccgrep.ops.upkeep import Forgotten, FsckResult
from ccgrep.output import tools
from ccgrep.output.style import Style
from ccgrep.settings import Setting, Value
from ccgrep.store.gc import GcReport
from ccgrep.text import clip, columns, escape, one_line

if TYPE_CHECKING:
    from ccgrep.ops.model import ModelFacts
    from ccgrep.search.semantic_search import EmbedReport


_SOURCES = {"claude_code": "claude-code", "codex": "codex"}
LOST = "(this turn is lost: run `ccgrep fsck --repair`)"
_AGE_COLUMNS = 4
_PROJECT_COLUMNS = 20
_MAX_INDENT = 10
_AGE_UNITS = ((365 * 86400, "y"), (30 * 86400, "mo"), (7 * 86400, "w"), (86400, "d"), (3600, "h"))


def age(time_ms: int | None, now_ms: int) -> str:
    """How long ago, in one unit: `3d`."""
    if time_ms is None:
        return "?"
    seconds = max(now_ms - time_ms, 0) // 1000
    for size, unit in _AGE_UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds // 60}m"


def local_time(time_ms: int | None) -> str:
    if time_ms is None:
        return "unknown time"
    try:
        return datetime.fromtimestamp(time_ms / 1000).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "unknown time"


def size(number: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def index_lines(report: IndexReport, set_aside: str = "") -> Iterator[str]:
    yield (
        f"{counted(report.files_seen, 'file')}, {report.files_parsed:,} read "
        f"({size(report.bytes_parsed)}): {counted(report.turns, 'turn')}, "
        f"{counted(report.new_objects, 'new object')}, "
        f"{counted(report.new_sessions, 'new session')} in {report.seconds:.1f} s"
    )
    if report.bad_lines:
        yield f"{counted(report.bad_lines, 'damaged spot')} passed over (`ccgrep status -v`)"
    if set_aside:
        yield f"the old store is in {escape(set_aside)}; delete it when you no longer need it"


def model_lines(shown: "ModelFacts") -> Iterator[str]:
    for name, value in shown._asdict().items():
        label = name.removeprefix("is_").replace("_", " ")
        text = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
        yield f"{label:<12}{escape(str(text))}"


def embed_line(report: "EmbedReport") -> str:
    rate = report.done / max(report.seconds, 0.001)
    return f"{counted(report.done, 'text')} embedded in {report.seconds:.1f} s ({rate:.0f}/s)"


def status_lines(status: Status, now_ms: int) -> Iterator[str]:
    gone = f", {status.gone_sessions:,} of them gone from disk" if status.gone_sessions else ""
    yield f"Sessions   {status.sessions:,}{gone}"
    yield f"Turns      {status.turns:,} in {counted(status.objects, 'object')}"
    for name, source in status.sources.items():
        yield (
            f"  {_SOURCES[name]:<12}{counted(source.files, 'file')}, "
            f"{counted(source.sessions, 'session')}, {counted(source.turns, 'turn')}"
        )
    share = f" ({status.store_bytes / status.source_bytes:.0%})" if status.source_bytes else ""
    yield f"Sources    {size(status.source_bytes)}"
    yield f"Store      {size(status.store_bytes)}{share} in {escape(status.store_dir)}"
    if status.behind.files:
        behind = f"{counted(status.behind.files, 'file')}, {size(status.behind.bytes)}"
        yield f"Behind     {behind}: run `ccgrep index`"
    else:
        yield "Behind     nothing"
    if status.bad_lines:
        yield f"Damaged    {counted(status.bad_lines, 'spot')} in source files could not be read"
    if status.unknown_types:
        names = ", ".join(f"{one_line(n)} ({c})" for n, c in sorted(status.unknown_types.items()))
        yield f"Unknown    {names}"
    when = f"{age(status.last_indexed, now_ms)} ago" if status.last_indexed else "never"
    yield f"Indexed    {when}"


def list_lines(
    sessions: list[Listed], now_ms: int, width: int | None, style: Style
) -> Iterator[str]:
    """Aligned to `width` columns on a terminal; separated by tabs without one."""
    rows = [_list_fields(item, now_ms) for item in sessions]
    if width is None:
        yield from ("\t".join(fields) for fields in rows)
        return
    ids, projects, numbers = (
        max((columns(row[at]) for row in rows), default=0) for at in (0, 2, 3)
    )
    left = max(width - ids - numbers - _AGE_COLUMNS - 4, 2)  # between the columns stands a blank
    projects = min(projects, _PROJECT_COLUMNS, left // 3)
    for id, old, project, turns, title in rows:
        name = clip(project, projects) if projects else ""
        name += " " * (projects - columns(name))
        when, titled = f"{old:>{_AGE_COLUMNS}}", clip(title, left - projects)
        yield (
            f"{id:<{ids}} {style.dim(when)} {style.green(name)} {turns:>{numbers}} {titled}"
        ).rstrip()


def _list_fields(item: Listed, now_ms: int) -> tuple[str, str, str, str, str]:
    session = item.row.session
    marks = [
        mark
        for mark, is_set in (
            ("sub-agent", session.kind == "subagent"),
            ("fork", session.kind == "main" and bool(session.forked_from or item.depth)),
            ("machine", session.kind == "worker"),
            ("prompts only", session.is_prompt_only),
            ("gone", item.row.is_gone and not session.is_prompt_only),
        )
        if is_set
    ]
    title = clip(one_line(session.title), 200)
    if marks:
        title = f"({', '.join(marks)}) {title}".rstrip()
    if item.depth:
        title = f"{'  ' * min(item.depth - 1, _MAX_INDENT)}└─ {title}"
    return (
        item.short_id,
        age(session.ended, now_ms),
        project_name(session),
        str(session.turns),
        title,
    )


def project_name(session: Session) -> str:
    """The last part of the project's path."""
    path = session.project.replace("\\", "/").rstrip("/")
    return one_line(os.path.basename(path) or path) or "-"


def show_lines(
    shown: Shown,
    with_tools: bool,
    with_thinking: bool,
    style: Style,
    on_turn: Callable[[int], None] = lambda _: None,
) -> Iterator[str]:
    """A conversation; `on_turn` is told the number of each turn before its first line."""
    if shown.session is not None:
        yield from _session_head(shown.session, shown.is_gone, style)
    for place in shown.places:
        on_turn(place.number)
        yield ""
        yield from _place_lines(place, with_tools, with_thinking, style)


def _session_head(session: Session, is_gone: bool, style: Style) -> Iterator[str]:
    head = f"[{local_time(session.started)}] Session {session.id} ({session.source})"
    yield style.bold(head)
    if session.title:
        yield f"Title: {clip(one_line(session.title), 200)}"
    yield f"Project: {style.green(one_line(session.project) or '-')}"
    if session.parent:
        yield f"Parent: {one_line(session.parent)}"
    if session.forked_from:
        yield f"Forked from: {one_line(session.forked_from)}"
    yield session_facts(session)
    yield from session_notes(session, is_gone)


def session_notes(session: Session, is_gone: bool) -> Iterator[str]:
    if session.is_prompt_only:
        yield "Only the prompts are left: the transcript was deleted before it was indexed."
    elif is_gone:
        yield "The transcript is gone; this is ccgrep's copy."


def session_facts(session: Session) -> str:
    facts = f"Duration: {_duration(session.duration_s)} | Messages: {session.messages}"
    return f"{facts} | Tools: {session.tools}"


def _duration(seconds: int | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86400}d {seconds % 86400 // 3600}h"


def _place_lines(
    place: ShownTurn, with_tools: bool, with_thinking: bool, style: Style
) -> Iterator[str]:
    entry = place.entry
    marks = " (rolled back)" if entry.is_rolled_back else ""
    head = f"--- {place.number} @{entry.turn.hex()[:10]} {local_time(entry.started)}{marks}"
    yield style.dim(head)
    if place.turn is None:
        yield LOST
        return
    yield from turn_lines(place.turn, with_tools, with_thinking, style)


def turn_lines(turn: Turn, with_tools: bool, with_thinking: bool, style: Style) -> Iterator[str]:
    if turn.prompt or turn.attached:
        yield f"{style.cyan('user:')} {escape(turn.prompt)}".rstrip()
        yield from (f"  {blob_line(blob)}" for blob in turn.attached)
    for step in turn.steps:
        if isinstance(step, Note):
            yield from _note_lines(step, style)
        else:
            yield from _message_lines(step, with_tools, with_thinking, style)


def _message_lines(
    message: Message, with_tools: bool, with_thinking: bool, style: Style
) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield f"{style.green('assistant:')} {escape(part.text.strip())}"
        elif isinstance(part, Thinking):
            if with_thinking:
                yield style.dim(f"thinking: {escape(part.text.strip())}")
        elif with_tools:
            yield f"  {one_line(tools.line(part))}"
            if part.result is not None:
                yield from (f"  {blob_line(blob)}" for blob in part.result.blobs)


def _note_lines(note: Note, style: Style) -> Iterator[str]:
    """Notes are told in one line: they are rarely what one looks for."""
    yield style.dim(f"  ({note.kind}) {clip(one_line(note.text), 160)}")


def blob_line(blob: Blob) -> str:
    return f"[{one_line(blob.media_type) or 'payload'}, {size(blob.size)}, not kept]"


def settings_lines(settings: Mapping[str, Setting], is_terminal: bool) -> Iterator[str]:
    """Key, value and where it came from: aligned on a terminal, else separated by tabs."""
    rows = [
        (name, _setting(setting.value), one_line(setting.origin))
        for name, setting in settings.items()
    ]
    if not is_terminal:
        yield from ("\t".join(row) for row in rows)
        return
    names, values = (max(columns(row[at]) for row in rows) for at in (0, 1))
    for name, value, origin in rows:
        yield f"{name:<{names}}  {value}{' ' * (values - columns(value))}  {origin}"


def _setting(value: Value) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    return one_line(f"{value:g}" if isinstance(value, float) else str(value)) or "-"


def fsck_lines(result: FsckResult) -> Iterator[str]:
    report = result.report
    yield from (escape(f"damaged: {name}") for name in report.damaged)
    yield from (escape(f"lost: {name}") for name in report.lost)
    yield (
        f"{counted(report.objects, 'object')} in {counted(report.packs, 'pack')}: "
        f"{len(report.damaged)} damaged, {len(report.lost)} lost, {report.dangling} dangling"
    )
    if result.repaired is not None and not report.is_clean:
        yield from (escape(f"still lost: {name}") for name in result.repaired.lost)
        yield (
            "repaired: "
            f"{len(report.lost) - len(result.repaired.lost)} of {len(report.lost)} recovered"
        )
    elif not report.is_clean:
        yield "run `ccgrep fsck --repair`"


def gc_lines(report: GcReport) -> Iterator[str]:
    yield (
        f"{counted(report.packs_before, 'pack')} → {report.packs_after}, "
        f"{counted(report.objects_dropped, 'object')} dropped, "
        f"{size(report.bytes_before)} → {size(report.bytes_after)}"
    )


def forget_lines(result: Forgotten) -> Iterator[str]:
    yield from (f"forgot {id}" for id in result.sessions)
    for path in result.set_aside:
        yield f"note: {escape(path)} is a store set aside by --recreate and was not changed"


def secret_line(found: Found, is_full_id: bool) -> str:
    """SESSION:TURN:RULE:FINGERPRINT."""
    id = found.place.session if is_full_id else found.short_id
    return f"{id}:{found.place.turn}:{found.rule}:{found.fingerprint}"


def secrets_note(found: list[Found]) -> str:
    """What was found, and what can be done about it."""
    secrets = counted(len({one.fingerprint for one in found}), "secret")
    turns = counted(len({one.place for one in found}), "turn")
    return (
        f"{secrets} in {turns}: make them invalid where they are valid; `ccgrep forget SESSION && "
        "ccgrep gc` removes a session from the store, and its transcript is yours to delete"
    )
