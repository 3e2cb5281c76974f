"""ccgrep mcp: run an MCP server on standard input and output.

Nothing heavy is imported before the first call: Claude Code waits for the server when it starts.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ccgrep.cli.context import Context
from ccgrep.cli.stdio_lines import claim_output, read_lines
from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.mcp.server import MAX_LINE_BYTES, Server, Toolbox

if TYPE_CHECKING:
    from ccgrep.cli.team_search import TeamHistory


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config()
    if arguments.remote and arguments.glob:
        raise UsageError("-R and GLOB cannot be combined: a server has no project directories")
    after_call = _do_nothing if arguments.remote else _Watcher(config, context.warn).start
    server = Server(claim_output(), lambda: _open_tools(config, arguments, context), after_call)
    for line in read_lines(MAX_LINE_BYTES):
        server.receive(line)
    server.finish()
    return 0


def _do_nothing() -> None:
    pass


def _open_tools(config: Config, arguments: SimpleNamespace, context: Context) -> Toolbox:
    from ccgrep.cli.calling_session import find_callers  # noqa: PLC0415
    from ccgrep.cli.time_argument import parse_when  # noqa: PLC0415
    from ccgrep.mcp import toolbox  # noqa: PLC0415
    from ccgrep.mcp.history import StoreHistory  # noqa: PLC0415
    from ccgrep.mcp.tools import Tools  # noqa: PLC0415

    context.prepare_encoders()
    is_remote = bool(arguments.remote)
    return toolbox.Toolbox(
        Tools(
            config=config,
            history=_team_history(config, arguments) if is_remote else StoreHistory(config),
            glob=arguments.glob,
            parse_time=lambda text, is_end: parse_when(text, context.now_ms, is_end),
            calling_sessions=lambda: find_callers(context.environment, config, is_stale=True),
            refresh=lambda warn, on_progress: (
                None if is_remote else _refresh(config, warn, on_progress)
            ),
        )
    )


def _team_history(config: Config, arguments: SimpleNamespace) -> "TeamHistory":
    from ccgrep.cli.team_search import TeamHistory  # noqa: PLC0415 - only with -R

    return TeamHistory(config, arguments.remote)


def _refresh(
    config: Config, warn: Callable[[str], None], on_progress: Callable[[int, int], None]
) -> None:
    """Ingest what changed, within the time budget, so that a call finds it."""
    from ccgrep.refresh.change_detector import detect_changes  # noqa: PLC0415

    changed = detect_changes(config.store_dir, [root.path for root in config.roots], config.exclude)
    if changed == []:
        return
    from ccgrep.refresh.background import Feedback  # noqa: PLC0415
    from ccgrep.refresh.update import update  # noqa: PLC0415 - only after a change

    feedback = Feedback(lambda progress: on_progress(progress.files_done, progress.files), warn)
    update(config, changed, feedback, lambda _: None, is_always_bounded=True)


class _Watcher:
    """Watches for changes from the first call on, if watchfiles is installed."""

    def __init__(self, config: Config, warn: Callable[[str], None]) -> None:
        self._config = config
        self._warn = warn
        self._is_started = False

    def start(self) -> None:
        if self._is_started:
            return
        self._is_started = True
        from threading import Event, Thread  # noqa: PLC0415

        try:
            from ccgrep.refresh.watch import keep_fresh  # noqa: PLC0415 - needs an extra
        except ModuleNotFoundError:
            return  # Each call finds the changes.
        arguments = (self._config, Event(), self._warn)
        Thread(target=keep_fresh, args=arguments, daemon=True).start()
