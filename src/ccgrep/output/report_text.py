"""Formats the reports of commands such as `index`, `status` and `fsck` for people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ccgrep.ingest.report import IndexReport
from ccgrep.ops.fsck import FsckResult
from ccgrep.ops.gc import ForgetReport
from ccgrep.ops.restore import RestoredFile
from ccgrep.ops.secrets import FoundSecret
from ccgrep.ops.sources import SourceList
from ccgrep.ops.status import EmbeddingStatus, Status
from ccgrep.output.formatting import byte_size, pluralize, short_age
from ccgrep.output.style import Style
from ccgrep.settings import Setting, Value
from ccgrep.store.gc import GcReport
from ccgrep.store.manifest import SourceFile
from ccgrep.text import columns, escape, one_line

if TYPE_CHECKING:
    from ccgrep.ops.embed import EmbedReport
    from ccgrep.ops.import_sessions import ImportReport
    from ccgrep.ops.model import ModelInfo, TriedModel


def index_lines(report: IndexReport, set_aside: str = "") -> Iterator[str]:
    yield (
        f"{pluralize(report.files_seen, 'file')}, {report.files_parsed:,} read "
        f"({byte_size(report.bytes_parsed)}): {pluralize(report.turns, 'turn')}, "
        f"{pluralize(report.new_objects, 'new object')}, "
        f"{pluralize(report.new_sessions, 'new session')} in {report.seconds:.1f} s"
    )
    if report.bad_lines:
        yield f"skipped {pluralize(report.bad_lines, 'damaged spot')}: run `ccgrep status -v`"
    if set_aside:
        yield f"the old store is in {escape(set_aside)}: delete it when you no longer need it"


def import_line(report: "ImportReport") -> str:
    forgotten = f", {report.forgotten:,} forgotten earlier" if report.forgotten else ""
    return (
        f"{pluralize(report.sessions, 'session')}, {report.new_sessions:,} of them new: "
        f"{pluralize(report.turns, 'turn')}{forgotten}"
    )


_MAX_ROOTS = 4  # of an agent on one line


def source_lines(found: SourceList, style: Style) -> Iterator[str]:
    """Yield each agent with its sessions, where its history is, and what is read of it.

    Those that are on this machine or have sessions come first.
    """
    width = max(len(source.name) for source in found.sources)
    for source in sorted(found.sources, key=lambda source: not (source.roots or source.sessions)):
        name = escape(source.name.replace("_", "-"))
        place = ", ".join(map(one_line, source.roots[:_MAX_ROOTS]))
        if more := len(source.roots[_MAX_ROOTS:]):
            place += f" and {more} more"
        nowhere = "imported" if source.sessions else "nothing imported"
        place = place or (nowhere if source.is_imported else "not on this machine")
        sessions = pluralize(source.sessions, "session")
        yield f"{style.bold(f'{name:<{width}}')}  {sessions:>14}  {one_line(source.title)}: {place}"
        reads = one_line(source.form + (f"; lacks {source.lacks}" if source.lacks else ""))
        if reads:
            yield f"{'':<{width}}  {'':>14}  {reads}"


def model_lines(info: "ModelInfo") -> Iterator[str]:
    for name, value in info._asdict().items():
        label = name.removeprefix("is_").replace("_", " ")
        text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        yield f"{label:<14}{escape(str(text))}"


def tried_model_lines(models: "Iterable[TriedModel]") -> Iterator[str]:
    yield f"{'name':<8}{'size':>7}  {'hybrid':<13}{'semantic':<13}model"
    for one in models:
        size = f"{one.download_mb} MB"
        hybrid = f"{one.hybrid_first:.1f} / {one.hybrid_within_five:.1f}"
        semantic = f"{one.semantic_first:.1f} / {one.semantic_within_five:.1f}"
        yield f"{one.short_name:<8}{size:>7}  {hybrid:<13}{semantic:<13}{one.name}"


def embed_line(report: "EmbedReport") -> str:
    rate = report.done / max(report.seconds, 0.001)
    return f"{pluralize(report.done, 'text')} embedded in {report.seconds:.1f} s ({rate:.0f}/s)"


def status_lines(status: Status, now_ms: int) -> Iterator[str]:
    gone = f", {status.gone_sessions:,} of them gone from disk" if status.gone_sessions else ""
    yield f"Sessions   {status.sessions:,}{gone}"
    yield f"Turns      {status.turns:,} in {pluralize(status.objects, 'object')}"
    width = max((len(name) for name in status.sources), default=0)
    for name, source in status.sources.items():
        yield (
            f"  {name.replace('_', '-'):<{width}}  {pluralize(source.files, 'file')}, "
            f"{pluralize(source.sessions, 'session')}, {pluralize(source.turns, 'turn')}"
        )
    share = f" ({status.store_bytes / status.source_bytes:.0%})" if status.source_bytes else ""
    yield f"Sources    {byte_size(status.source_bytes)}"
    yield f"Store      {byte_size(status.store_bytes)}{share} in {escape(status.store_dir)}"
    if status.behind.files:
        behind = f"{pluralize(status.behind.files, 'file')}, {byte_size(status.behind.bytes)}"
        yield f"Behind     {behind}: run `ccgrep index`"
    else:
        yield "Behind     nothing"
    yield from _keep_lines(status)
    yield f"Embedded   {_embedding_text(status.embeddings)}"
    if status.bad_lines:
        yield f"Damaged    {pluralize(status.bad_lines, 'spot')} in transcripts could not be read"
    if status.unknown_types:
        types = {n.replace("(none)", "no type"): c for n, c in sorted(status.unknown_types.items())}
        names = ", ".join(f"{one_line(name)} ({count})" for name, count in types.items())
        yield f"Unknown    types of records: {names}"
    when = f"{short_age(status.last_indexed, now_ms)} ago" if status.last_indexed else "never"
    yield f"Indexed    {when}"


def _embedding_text(status: EmbeddingStatus | None) -> str:
    """Return what is embedded, with which model, and what is missing."""
    if status is None:
        return "nothing: the setting embed is never"
    if status.problem:
        return f"nothing: {one_line(status.problem)}"
    days = status.window_days
    window = f"of the last {pluralize(days, 'day')}" if days else "of all turns"
    parts = [f"{pluralize(status.embedded, 'text')} {window} by {one_line(status.model)}"]
    if status.pending:
        parts.append(f"{status.pending:,} pending{_time_left(status)}: run `ccgrep index`")
    if status.outside_window:
        older = f"{pluralize(status.outside_window, 'older turn')} not embedded"
        parts.append(f"{older}: run `ccgrep index --embed-all`")
    return "; ".join(parts)


def _time_left(status: EmbeddingStatus) -> str:
    if status.texts_per_second is None or status.seconds_left is None:
        return ""
    left = status.seconds_left
    duration = f"{left / 60:.0f} min" if left >= 120 else f"{left:.0f} s"
    return f" (about {duration} at {status.texts_per_second:.0f}/s)"


def _keep_lines(status: Status) -> Iterator[str]:
    """Yield warnings about transcripts that will be lost."""
    unkept = status.unkept
    if unkept.files:
        what = f"{pluralize(unkept.files, 'transcript')}, {byte_size(unkept.bytes)}"
        when = "" if unkept.days_left is None else ", deleted by Claude Code "
        if unkept.days_left is not None:
            when += f"in {pluralize(unkept.days_left, 'day')}" if unkept.days_left else "soon"
        yield f'Not kept   {what}{when}: run `ccgrep index` with keep = "all"'
    for root in status.unwritten_roots:
        yield (
            f"Not kept   Claude Code writes no transcripts to {escape(root)}: "
            "cleanupPeriodDays is 0 in its settings.json"
        )


def settings_lines(settings: Mapping[str, Setting], is_terminal: bool) -> Iterator[str]:
    """Yield key, value and origin: aligned on a terminal, separated by tabs elsewhere."""
    rows = [
        (name, _setting_value(setting.value), one_line(setting.origin))
        for name, setting in settings.items()
    ]
    if not is_terminal:
        yield from ("\t".join(row) for row in rows)
        return
    names, values = (max(columns(row[at]) for row in rows) for at in (0, 1))
    for name, value, origin in rows:
        yield f"{name:<{names}}  {value}{' ' * (values - columns(value))}  {origin}"


def _setting_value(value: Value) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    return one_line(f"{value:g}" if isinstance(value, float) else str(value)) or "-"


def fsck_lines(result: FsckResult) -> Iterator[str]:
    report = result.report
    yield from (escape(f"damaged: {name}") for name in report.damaged)
    yield from (escape(f"lost: {name}") for name in report.lost)
    yield (
        f"{pluralize(report.objects, 'object')} in {pluralize(report.packs, 'pack')}: "
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
        f"{pluralize(report.packs_before, 'pack')} → {report.packs_after}, "
        f"{pluralize(report.objects_dropped, 'object')} dropped, "
        f"{byte_size(report.bytes_before)} → {byte_size(report.bytes_after)}"
    )


def forget_lines(result: ForgetReport) -> Iterator[str]:
    yield from (f"forgot {id}" for id in result.sessions)
    for path in result.set_aside:
        yield f"note: {escape(path)} is a store set aside by --recreate and was not changed"
    if result.machines:
        names = ", ".join(map(one_line, result.machines))
        yield f"note: run `ccgrep sync`; then {names} will forget it with the next sync there"


def copies_note(copies: Mapping[str, int]) -> str:
    """Return which forks and copies still hold forgotten turns, and how to forget them."""
    held = ", ".join(f"{id} ({pluralize(number, 'turn')})" for id, number in copies.items())
    return f"forks and copies still hold these turns: {held}; `ccgrep forget --forks` takes them"


def secret_line(found: FoundSecret, is_full_id: bool) -> str:
    """Return SESSION:TURN:RULE:FINGERPRINT."""
    id = found.place.session if is_full_id else found.short_id
    return f"{id}:{found.place.turn}:{found.rule}:{found.fingerprint}"


def secrets_note(found: list[FoundSecret]) -> str:
    """Return how many secrets were found and what to do about them."""
    secrets = pluralize(len({secret.fingerprint for secret in found}), "secret")
    turns = pluralize(len({secret.place for secret in found}), "turn")
    return (
        f"{secrets} in {turns}: revoke them; `ccgrep forget SESSION && ccgrep gc` removes a "
        "session from the store, its transcript is yours to delete"
    )


def restore_lines(files: Sequence[RestoredFile]) -> Iterator[str]:
    for file in files:
        yield f"{file.state}\t{byte_size(file.size)}\t{one_line(file.path)}"


def version_lines(versions: Sequence[SourceFile], now_ms: int) -> Iterator[str]:
    for number, file in enumerate(versions, 1):
        age = short_age(file.mtime_ns // 1_000_000, now_ms)
        yield f"{number}\t{age}\t{byte_size(file.stored_bytes)}\t{one_line(file.path)}"
