"""ccgrep setup: install ccgrep into an agent or a shell, or remove it."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.setup_agents import Options, setup_claude, setup_codex
from ccgrep.cli.setup_shell import setup_shell
from ccgrep.cli.setup_sync import setup_sync
from ccgrep.errors import UsageError


def run(arguments: SimpleNamespace, context: Context) -> int:
    options = Options(arguments.dry_run, arguments.remove, arguments.hook, arguments.recall)
    has_hooks = options.has_hook or options.has_recall
    if arguments.every and arguments.what != "sync":
        raise UsageError("--every is only for `ccgrep setup sync`")
    if arguments.what == "sync":
        if has_hooks:
            raise UsageError("--hook and --recall are only for `ccgrep setup claude`")
        lines = setup_sync(
            context.environment, arguments.every or "15m", options.is_dry, options.is_removal
        )
    elif arguments.what == "shell":
        if has_hooks:
            raise UsageError(
                "shells have no hooks: use --hook and --recall only with `ccgrep setup claude`"
            )
        lines = setup_shell(context.environment, options.is_dry, options.is_removal)
    else:
        setups = {"claude": setup_claude, "codex": setup_codex}
        lines = setups[arguments.what](context.environment, options)
    context.write_lines(lines)
    if arguments.what == "sync" and not options.is_removal:
        _warn_without_remote(context)
    return 0


def _warn_without_remote(context: Context) -> None:
    from ccgrep.ops.remote import list_all  # noqa: PLC0415 - only for sync

    if not list_all(context.config()):
        context.warn("there is no remote yet: run `ccgrep remote add NAME URL`")
