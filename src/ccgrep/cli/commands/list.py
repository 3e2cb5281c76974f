"""ccgrep list: list sessions, most recent first."""

from types import SimpleNamespace

from msgspec.structs import replace

from ccgrep.cli.calling_session import find_callers, is_agent
from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.errors import UsageError
from ccgrep.ops.list import list_sessions
from ccgrep.output.json_document import encode_document
from ccgrep.output.session_json import list_fields
from ccgrep.output.session_list import list_lines
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.request import Filters


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    is_cut = arguments.limit is None and context.is_terminal and not arguments.json
    filters = parse_filters(arguments, context, config, documents="exclude")
    is_own = arguments.include_self or arguments.session or not is_agent(context.environment)
    if not is_own:
        filters = filters._replace(except_ids=find_callers(context.environment, config))
    is_folded = arguments.subagents is None and config.subagents == "include"
    finish_refresh(refresh)
    limit = config.list_limit if is_cut else arguments.limit or 0
    if arguments.owner and not arguments.remote:
        raise UsageError("--owner needs -R: only a team's server knows who pushed a session")
    if arguments.remote:
        from ccgrep.cli.team_search import list_team  # noqa: PLC0415 - only with -R

        sessions = list_team(config, arguments, filters, limit, is_folded)
    else:
        sessions = list_sessions(config, filters, limit, arguments.tree, is_folded, arguments.gone)
    if arguments.json:
        context.write(encode_document(list_fields(sessions)))
        return 0
    if not sessions:
        if filters.marked is not None:
            filters.marked()  # An unknown tag is an error.
        if not arguments.remote and not list_sessions(config, Filters(), 1):
            context.warn("there are no sessions yet")
        else:
            context.warn("no session matches: run `ccgrep list` without filters")
    if arguments.full_id:
        sessions = [replace(one, short_id=one.row.session.id) for one in sessions]
    style = context.style_for(arguments.color)
    width = context.width if context.is_terminal else None
    context.write_lines(list_lines(sessions, context.now_ms, width, style))
    if is_cut and limit and sum(not session.depth for session in sessions) == limit:
        context.write_error(f"only the {limit} most recent; use -n 0 to list all")
    return 0
