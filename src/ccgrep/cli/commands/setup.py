"""ccgrep setup: install ccgrep into an agent or a shell, or remove it."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.setup_agents import setup_claude, setup_codex
from ccgrep.cli.setup_shell import setup_shell
from ccgrep.cli.setup_sync import setup_sync
from ccgrep.errors import UsageError


def run(arguments: SimpleNamespace, context: Context) -> int:
    if arguments.every and arguments.what != "sync":
        raise UsageError("--every is only for `ccgrep setup sync`")
    if arguments.what == "sync":
        if arguments.hook:
            raise UsageError("--hook is only for `ccgrep setup claude`")
        lines = setup_sync(
            context.environment, arguments.every or "15m", arguments.dry_run, arguments.remove
        )
    elif arguments.what == "shell":
        if arguments.hook:
            raise UsageError("shells have no hooks: use --hook only with `ccgrep setup claude`")
        lines = setup_shell(context.environment, arguments.dry_run, arguments.remove)
    else:
        setups = {"claude": setup_claude, "codex": setup_codex}
        lines = setups[arguments.what](
            context.environment, arguments.dry_run, arguments.remove, arguments.hook
        )
    context.write_lines(lines)
    return 0
