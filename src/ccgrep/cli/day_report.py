"""ccgrep log --day: print what was done on each day in each project.

Importing this module imports numpy, for the costs.
"""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.cli.pager import page
from ccgrep.ops.log import add_costs, report_log
from ccgrep.ops.stats import StatsRequest, make_report
from ccgrep.output.day_report import day_fields, day_of, markdown_lines, report_lines
from ccgrep.output.json_document import encode_document
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.stats.prices import read_prices
from ccgrep.stats.report import Report


def print_report(
    arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None
) -> int:
    """Print what was done on each day, since yesterday unless the user says otherwise."""
    config = context.config()
    is_default = not arguments.since and not arguments.until
    if is_default:
        arguments.since = "yesterday"
    filters = parse_filters(arguments, context, config, documents="exclude")
    finish_refresh(refresh)
    reports = report_log(config, filters, " ".join(arguments.pattern), day_of)
    if reports:
        request = StatsRequest(config, filters, prices=read_prices(config.prices))
        costs, _ = make_report(request, Report.cost_by_day_and_project)
        # A pattern chooses turns that the tallies cannot tell.
        if not arguments.pattern:
            reports = add_costs(reports, costs)
    if not reports:
        context.warn("no turn since yesterday: use --since" if is_default else "no turn matches")
    if arguments.json:
        context.write(encode_document(day_fields(reports)))
        return 0 if reports else 1
    if arguments.markdown:
        lines = markdown_lines(reports)
    else:
        width = context.width if context.is_terminal else None
        lines = report_lines(reports, width, context.style_for(arguments.color))
    page(lines, context, "" if arguments.no_pager else config.pager)
    return 0 if reports else 1
