"""ccgrep log: print the turns in time order."""

from collections.abc import Iterator
from itertools import chain
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.cli.pager import page
from ccgrep.errors import UsageError
from ccgrep.ops.log import read_log
from ccgrep.output.json_document import encode_document
from ccgrep.output.turn_log import (
    check_template,
    grouped_lines,
    log_fields,
    record_lines,
    template_lines,
)
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.turn_log import LoggedTurn


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    filters = parse_filters(arguments, context, config, documents="exclude")
    filters = filters._replace(subagents=arguments.subagents or "exclude")
    if arguments.format is not None:
        check_template(arguments.format)
    if arguments.markdown and not arguments.day:
        raise UsageError("--markdown needs --day: use `ccgrep log --day --markdown`")
    if arguments.day:
        from ccgrep.cli.day_report import print_report  # noqa: PLC0415 - imports numpy

        return print_report(arguments, context, refresh)
    finish_refresh(refresh)
    turns = read_log(config, filters, " ".join(arguments.pattern), arguments.limit or 0)
    if arguments.reverse:
        turns = reversed([*turns])
    first = next(turns, None)
    if first is None:
        context.warn("no turn matches")
        if not arguments.json:
            return 1
    lines = _lines(chain((first,) if first else (), turns), arguments, context)
    page(lines, context, "" if arguments.no_pager else config.pager)
    return 0 if first is not None else 1


def _lines(
    turns: Iterator[LoggedTurn], arguments: SimpleNamespace, context: Context
) -> Iterator[str]:
    style = context.style_for(arguments.color)
    if arguments.json:
        yield encode_document(log_fields(turns))
    elif arguments.format is not None:
        yield from template_lines(turns, arguments.format, arguments.full_id)
    elif context.is_terminal:
        yield from grouped_lines(turns, arguments.full_id, context.width, style)
    else:
        yield from record_lines(turns, arguments.full_id, style)
