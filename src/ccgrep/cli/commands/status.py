"""ccgrep status: show what is indexed and what is out of date."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.errors import UsageError
from ccgrep.ops import status as ops
from ccgrep.ops.disk_usage import measure_projects
from ccgrep.output.disk_usage import usage_fields, usage_lines, usage_table
from ccgrep.output.json_document import encode_document, status_fields
from ccgrep.output.report_text import status_lines
from ccgrep.text import escape


def _print_projects(arguments: SimpleNamespace, context: Context) -> int:
    projects, store_bytes = measure_projects(context.config())
    if arguments.json:
        context.write(encode_document(usage_fields(projects, store_bytes)))
    elif context.is_terminal:
        context.write_lines(usage_table(projects, store_bytes, context.width))
    else:
        context.write_lines(usage_lines(projects))
    return 0


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config(arguments.root)
    if arguments.by:
        if arguments.root:
            raise UsageError("--by shows the whole store: leave out --root")
        return _print_projects(arguments, context)
    status = ops.status(config)
    if arguments.json:
        context.write(encode_document(status_fields(status)))
        return 0
    context.write_lines(status_lines(status, context.now_ms))
    if arguments.verbose:
        for path, spot in ops.bad_spots(config):
            context.write(f"  {escape(path)}:{spot.offset}: {spot.length} bytes, {spot.reason}")
    return 0
