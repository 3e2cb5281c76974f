"""ccgrep status: show what is indexed and what is out of date."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.ops import status as ops
from ccgrep.output.json_document import encode_document, status_fields
from ccgrep.output.report_text import status_lines
from ccgrep.text import escape


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config(arguments.root)
    status = ops.status(config)
    if arguments.json:
        context.write(encode_document(status_fields(status)))
        return 0
    context.write_lines(status_lines(status, context.now_ms))
    if arguments.verbose:
        for path, spot in ops.bad_spots(config):
            context.write(f"  {escape(path)}:{spot.offset}: {spot.length} bytes, {spot.reason}")
    return 0
