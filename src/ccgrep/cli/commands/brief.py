"""ccgrep brief: print what was worked on, decided and left open."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.ops.brief import make_brief
from ccgrep.output.brief_json import brief_fields
from ccgrep.output.brief_text import brief_lines
from ccgrep.output.json_document import encode_document
from ccgrep.refresh.background import BackgroundRefresh

_SESSIONS = 5


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    filters = parse_filters(arguments, context, config, documents="exclude")
    finish_refresh(refresh)
    filters = filters._replace(subagents=arguments.subagents or "exclude")
    limit = _SESSIONS if arguments.limit is None else arguments.limit or None
    sessions = make_brief(config, filters, limit)
    if arguments.json:
        context.write(encode_document(brief_fields(sessions)))
    else:
        width = context.width if context.is_terminal else None
        style = context.style_for(arguments.color)
        context.write_lines(brief_lines(sessions, context.now_ms, width, style))
    return 0 if sessions else 1
