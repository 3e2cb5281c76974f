"""ccgrep pull: fetch the sessions of other machines from a remote."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.sync_command import run_sync


def run(arguments: SimpleNamespace, context: Context) -> int:
    return run_sync(arguments, context, is_pull=True, is_push=False)
