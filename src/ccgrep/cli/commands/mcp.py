"""ccgrep mcp: run an MCP server on standard input and output."""

from threading import Event, Thread
from types import SimpleNamespace

from ccgrep.cli.calling_session import find_callers
from ccgrep.cli.context import Context
from ccgrep.cli.time_argument import parse_when
from ccgrep.errors import UsageError


def run(arguments: SimpleNamespace, context: Context) -> int:
    context.prepare_encoders()
    try:
        from ccgrep.mcp.server import serve  # noqa: PLC0415 - needs the extra
        from ccgrep.mcp.tools import Tools  # noqa: PLC0415
        from ccgrep.refresh.watch import keep_fresh  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed: run `pip install 'ccgrep[mcp]'` to use the server"
        ) from error
    config = context.config()
    Thread(target=keep_fresh, args=(config, Event(), context.warn), daemon=True).start()
    serve(
        Tools(
            config=config,
            glob=arguments.glob,
            parse_time=lambda text: parse_when(text, context.now_ms),
            calling_sessions=lambda: find_callers(context.environment, config, is_stale=True),
        )
    )
    return 0
