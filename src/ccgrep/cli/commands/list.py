"""ccgrep list: sessions, most recent first."""

from types import SimpleNamespace

from ccgrep.cli.context import Context, source_name
from ccgrep.cli.when import parse_when
from ccgrep.ops import sessions as ops
from ccgrep.output import human, json
from ccgrep.search.request import Filters

_ON_TERMINAL = 20


def run(arguments: SimpleNamespace, context: Context) -> int:
    now_ms = context.now_ms
    is_cut = arguments.limit is None and context.is_terminal and not arguments.json
    filters = Filters(
        project=arguments.project,
        since=parse_when(arguments.since, now_ms) if arguments.since else None,
        until=parse_when(arguments.until, now_ms) if arguments.until else None,
        source=source_name(arguments.source),
    )
    limit = _ON_TERMINAL if is_cut else max(arguments.limit or 0, 0)
    sessions = ops.list_sessions(context.config(), filters, limit)
    if arguments.json:
        context.write(json.dumps(json.listed(sessions)))
        return 0
    width = context.width if context.is_terminal else None
    context.write_lines(human.list_lines(sessions, now_ms, width, context.style))
    if is_cut and len(sessions) == _ON_TERMINAL:
        context.say(f"the {_ON_TERMINAL} most recent; -n 0 lists all")
    return 0
