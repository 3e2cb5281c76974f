"""ccgrep import: store sessions from exchange files and data exports."""

from types import SimpleNamespace

from msgspec.structs import asdict

from ccgrep.cli.context import Context
from ccgrep.ops.import_sessions import import_file
from ccgrep.output.json_document import encode_document
from ccgrep.output.report_text import import_line


def run(arguments: SimpleNamespace, context: Context) -> int:
    wait_s = 0.0 if arguments.no_wait else 10.0
    report = import_file(context.config(), arguments.file, wait_s, context.warn)
    if arguments.json:
        context.write(encode_document(asdict(report)))
    elif not arguments.quiet:
        context.write_error(import_line(report))
    return 0
