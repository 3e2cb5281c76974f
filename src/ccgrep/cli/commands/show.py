"""ccgrep show: a turn or a session as conversation."""

from types import SimpleNamespace

from ccgrep.cli.context import Context, refs_from
from ccgrep.ops import sessions
from ccgrep.output import human, json


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config()
    for position, ref in enumerate(refs_from(arguments.ref)):
        shown = sessions.show(config, ref)
        if arguments.json:
            context.write(json.dumps(json.shown(shown, arguments.tools, arguments.thinking)))
            continue
        if position:
            context.write("")
        lines = human.show_lines(shown, arguments.tools, arguments.thinking, context.style)
        context.write_lines(lines)
    return 0
