"""ccgrep mcp: the MCP server on standard input and output."""

from threading import Event, Thread
from types import SimpleNamespace

from ccgrep.cli.calling_session import asking
from ccgrep.cli.context import Context
from ccgrep.cli.time_argument import parse_when
from ccgrep.errors import UsageError
from ccgrep.text import escape


def run(arguments: SimpleNamespace, context: Context) -> int:
    context.prepare_encoders()
    try:
        from ccgrep.mcp.server import serve  # noqa: PLC0415 - in an extra
        from ccgrep.mcp.tools import ServerContext  # noqa: PLC0415
        from ccgrep.refresh.watch import keep_fresh  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the server needs more than is installed ({error.name}): pip install 'ccgrep[mcp]'"
        ) from error
    config = context.config()

    def warn(note: str) -> None:
        context.say(f"ccgrep: {escape(note)}")

    Thread(target=keep_fresh, args=(config, Event(), warn), daemon=True).start()
    serve(
        ServerContext(
            config=config,
            glob=arguments.glob,
            parse_time=lambda text: parse_when(text, context.now_ms),
            calling_sessions=lambda: asking(context.environment, config, is_guessed=True),
        )
    )
    return 0
