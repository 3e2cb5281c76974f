"""ccgrep settings: print all settings and where they come from."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.output.json_document import encode_document, settings_fields
from ccgrep.output.report_text import settings_lines
from ccgrep.settings import config_path


def run(arguments: SimpleNamespace, context: Context) -> int:
    if arguments.json:
        path = config_path(context.environment)
        context.write(encode_document(settings_fields(context.settings, path)))
    else:
        context.write_lines(settings_lines(context.settings, context.is_terminal))
    return 0
