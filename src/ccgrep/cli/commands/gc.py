"""ccgrep gc: fold packs and drop what nothing refers to."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.ops import upkeep
from ccgrep.output import human, json


def run(arguments: SimpleNamespace, context: Context) -> int:
    report = upkeep.gc(context.config(), 0.0 if arguments.no_wait else 10.0)
    if arguments.json:
        context.write(json.dumps(json.gc(report)))
    else:
        context.write_lines(human.gc_lines(report))
    return 0
