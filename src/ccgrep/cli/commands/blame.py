"""ccgrep blame: list the turns that read or changed a file."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.ops.blame import blame, blame_line
from ccgrep.output.blame_records import blame_fields, format_blame
from ccgrep.output.json_document import encode_document
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.text import one_line


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    filters = parse_filters(arguments, context, config)
    finish_refresh(refresh)
    if arguments.line is None:
        turns = blame(config, arguments.file, filters, arguments.limit or 0)
    else:
        turns = [blame_line(config, arguments.file, arguments.line, filters)]
    if arguments.json:
        fields = [blame_fields(turn) for turn in turns]
        context.write(
            encode_document({"file": arguments.file, "line": arguments.line, "turns": fields})
        )
    else:
        style = context.style_for(arguments.color)
        context.write_lines(format_blame(turn, arguments.full_id, style) for turn in turns)
    if not turns:
        context.warn(f"no turn is known to have read or changed '{one_line(arguments.file)}'")
    return 0 if turns else 1
