"""ccgrep setup: install ccgrep into an agent or a shell, or remove it."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.setup_agents import Options, setup_claude, setup_codex
from ccgrep.cli.setup_shell import setup_shell
from ccgrep.errors import UsageError


def run(arguments: SimpleNamespace, context: Context) -> int:
    options = Options(arguments.dry_run, arguments.remove, arguments.hook, arguments.recall)
    if arguments.what == "shell":
        if options.has_hook or options.has_recall:
            raise UsageError(
                "shells have no hooks: use --hook and --recall only with `ccgrep setup claude`"
            )
        lines = setup_shell(context.environment, options.is_dry, options.is_removal)
    else:
        setups = {"claude": setup_claude, "codex": setup_codex}
        lines = setups[arguments.what](context.environment, options)
    context.write_lines(lines)
    return 0
