"""ccgrep blame: the turns that read or changed a file."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.filter_options import filters_of
from ccgrep.ops.blame import blame, blame_line, refresh_store
from ccgrep.output.blame_records import blame_fields, format_blame
from ccgrep.output.json_document import encode_document
from ccgrep.text import escape


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config()
    filters = filters_of(arguments, context, config)
    if not arguments.no_refresh:
        refresh_store(config, lambda note: context.say(f"ccgrep: {escape(note)}"))
    if arguments.line is None:
        found = blame(config, arguments.file, filters, arguments.limit or 0)
    else:
        found = [blame_line(config, arguments.file, arguments.line, filters)]
    if arguments.json:
        turns = [blame_fields(one) for one in found]
        context.write(
            encode_document({"file": arguments.file, "line": arguments.line, "turns": turns})
        )
    else:
        style = context.style_for(arguments.color)
        context.write_lines(format_blame(one, arguments.full_id, style) for one in found)
    return 0 if found else 1
