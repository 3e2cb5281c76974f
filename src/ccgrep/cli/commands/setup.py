"""ccgrep setup: installs what belongs into other programs' configuration, or takes it away."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.setup_shell import setup_shell


def run(arguments: SimpleNamespace, context: Context) -> int:
    # What WHAT may be, the table says.
    setups = {"shell": setup_shell}
    lines = setups[arguments.what](context.environment, arguments.dry_run, arguments.remove)
    context.write_lines(lines)
    return 0
