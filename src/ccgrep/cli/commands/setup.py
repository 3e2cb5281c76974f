"""ccgrep setup: installs what belongs into other programs' configuration, or takes it away."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.setup_agents import setup_claude, setup_codex


def run(arguments: SimpleNamespace, context: Context) -> int:
    # What WHAT may be, the table says.
    setups = {"claude": setup_claude, "codex": setup_codex}
    lines = setups[arguments.what](
        context.environment, arguments.dry_run, arguments.remove, arguments.hook
    )
    context.write_lines(lines)
    return 0
