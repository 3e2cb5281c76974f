"""ccgrep gc: merge packs and delete unreferenced objects."""

from types import SimpleNamespace

from msgspec.structs import asdict

from ccgrep.cli.context import Context
from ccgrep.ops.gc import gc
from ccgrep.output.json_document import encode_document
from ccgrep.output.report_text import gc_lines


def run(arguments: SimpleNamespace, context: Context) -> int:
    report = gc(context.config(), 0.0 if arguments.no_wait else 10.0, context.warn)
    if arguments.json:
        context.write(encode_document(asdict(report)))
    else:
        context.write_lines(gc_lines(report))
    return 0
