"""ccgrep sources: list the agents that ccgrep reads."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.ops.sources import list_sources
from ccgrep.output.json_document import encode_document, source_fields
from ccgrep.output.report_text import source_lines


def run(arguments: SimpleNamespace, context: Context) -> int:
    found = list_sources(context.config(arguments.root))
    for problem in found.problems:
        context.warn(problem)
    if arguments.json:
        context.write(encode_document(source_fields(found)))
    else:
        context.write_lines(source_lines(found, context.style))
    return 0
