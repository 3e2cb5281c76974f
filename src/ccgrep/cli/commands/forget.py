"""ccgrep forget: remove a session for good."""

from types import SimpleNamespace

from ccgrep.cli.context import Context, refs_from
from ccgrep.ops import upkeep
from ccgrep.output import human, json


def run(arguments: SimpleNamespace, context: Context) -> int:
    wait_s = 0.0 if arguments.no_wait else 10.0
    result = upkeep.forget(context.config(), refs_from(arguments.ref), wait_s)
    if arguments.json:
        context.write(json.dumps(json.forgotten(result)))
    else:
        context.write_lines(human.forget_lines(result))
    return 0
