"""ccgrep settings: what is set, and where."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.config import settings_file
from ccgrep.output import human, json


def run(arguments: SimpleNamespace, context: Context) -> int:
    if arguments.json:
        path = settings_file(context.environment)
        context.write(json.dumps(json.settings(context.settings, path)))
    else:
        context.write_lines(human.settings_lines(context.settings, context.is_terminal))
    return 0
