"""ccgrep push: write this machine's sessions to a remote."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.sync_command import run_sync
from ccgrep.refresh.background import BackgroundRefresh


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    return run_sync(arguments, context, is_pull=False, is_push=True, refresh=refresh)
