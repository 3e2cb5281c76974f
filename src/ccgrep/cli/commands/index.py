"""ccgrep index: ingest new and changed transcripts."""

from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import make_feedback
from ccgrep.cli.progress import Bar, embedding_text
from ccgrep.cli.time_argument import parse_when
from ccgrep.config import Config
from ccgrep.errors import LockedError, MissingModelError, UsageError
from ccgrep.ingest.report import IndexReport, Progress
from ccgrep.ops import index
from ccgrep.output.json_document import encode_document, index_fields
from ccgrep.output.report_text import embed_line, index_lines
from ccgrep.refresh.update import has_roots
from ccgrep.text import escape

if TYPE_CHECKING:
    from ccgrep.ops.embed import EmbedReport
    from ccgrep.semantic.embedding import EmbedProgress

_PRINT_EVERY_S = 10.0


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config(arguments.root, arguments.source, arguments.model)
    if not has_roots(config) and not arguments.recreate:
        raise UsageError(
            "no transcripts found, no agent has a directory such as ~/.claude or ~/.codex: name a "
            "directory with --root"
        )
    wait_s = 0.0 if arguments.no_wait else 10.0
    bar = Bar()

    def on_progress(progress: Progress) -> None:
        if arguments.verbose:
            context.write_error(escape(progress.path))
        elif context.is_error_terminal and not arguments.quiet:
            bar(progress)

    warn = make_feedback(arguments, context).warn
    set_aside = ""
    try:
        if arguments.recreate:
            report, set_aside = index.recreate(config, wait_s, on_progress, warn)
        else:
            report = index.index(config, arguments.full, wait_s, on_progress, warn)
        if not arguments.quiet:
            bar.close()
            _report(report, set_aside, arguments.json, context)
        embedded = _embed(arguments, context, config, bar)
    finally:
        bar.close()
    if arguments.json:
        context.write(encode_document(index_fields(report, set_aside, embedded)))
    elif embedded is not None and embedded.done and not arguments.quiet:
        context.write_error(embed_line(embedded))
    if arguments.watch:
        _watch(arguments, context, config, bar)
    return 0


def _watch(arguments: SimpleNamespace, context: Context, config: Config, bar: Bar) -> None:
    """Ingest and embed changes until Ctrl-C."""
    try:
        from ccgrep.refresh.watch import keep_fresh  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        raise UsageError(
            "watchfiles is not installed: run `pip install 'ccgrep[mcp]'` to use --watch"
        ) from error

    def on_ingested() -> None:
        _embed(arguments, context, config, bar)
        bar.close()

    if not arguments.quiet:
        context.write_error("watching for changes")
    keep_fresh(config, Event(), context.warn, on_ingested)


def _embed(
    arguments: SimpleNamespace, context: Context, config: Config, bar: Bar
) -> "EmbedReport | None":
    """Embed new turns. Return None if there is no model and no option asks for embedding."""
    is_required = arguments.embed_all or arguments.embed_since or arguments.model
    if arguments.no_embed or (config.embed == "never" and not is_required):
        return None
    context.prepare_encoders()

    printed_s = 0.0

    def on_progress(progress: "EmbedProgress") -> None:
        nonlocal printed_s
        if arguments.quiet:
            return
        if context.is_error_terminal:
            bar.embedding(progress)
        elif arguments.verbose and progress.seconds - printed_s >= _PRINT_EVERY_S:
            printed_s = progress.seconds
            context.write_error(embedding_text(progress))

    since = parse_when(arguments.embed_since, context.now_ms) if arguments.embed_since else None
    try:
        from ccgrep.ops.embed import embed_pending  # noqa: PLC0415 - needs the extra

        report = embed_pending(config, 0 if arguments.embed_all else None, since, on_progress)
    except (MissingModelError, LockedError):  # LockedError: another process is embedding.
        if is_required:
            raise
        return None
    if report.note and not arguments.quiet:
        context.warn(report.note)
    return report


def _report(report: IndexReport, set_aside: str, is_json: bool, context: Context) -> None:
    for trouble in (*report.plugin_problems, *report.troubles):
        context.warn(trouble)
    if not is_json:
        for line in index_lines(report, set_aside):
            context.write_error(line)
