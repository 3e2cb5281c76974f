"""ccgrep export: write sessions as Markdown, HTML or JSON."""

import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh, make_step_bar
from ccgrep.cli.progress import shared_bar
from ccgrep.errors import UsageError
from ccgrep.ops import save_file
from ccgrep.ops.show import Conversation, read_blob, show
from ccgrep.output.conversation_markdown import markdown_lines
from ccgrep.output.json_document import encode_document
from ccgrep.output.session_json import conversation_fields
from ccgrep.output.turn_parts import Include
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.steps import OnStep, count_steps
from ccgrep.text import one_line

_FORMATS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    if arguments.site is not None:
        from ccgrep.cli.site_export import export_site  # noqa: PLC0415 - slow to import

        finish_refresh(refresh)
        return export_site(arguments, context, config)
    if not arguments.ref:
        raise UsageError("no REF: pass session ids, - for those on standard input, or --site DIR")
    format = _format(arguments)
    finish_refresh(refresh)
    # A conversation that appears on the terminal shows by itself how far it is.
    is_visible = context.is_terminal and arguments.output is None
    on_step = make_step_bar(context, is_quiet=is_visible)
    include = Include(arguments.tools, arguments.thinking)

    def read(sha256: str) -> bytes | None:
        return read_blob(config, f"@{sha256}")

    with shared_bar():
        refs = count_steps(arguments.ref, "sessions read", len(arguments.ref), on_step)
        shown = [show(config, ref, limit=arguments.limit or 0) for ref in refs]
        lines = _lines(format, shown, include, read, on_step)
        if arguments.output is None:
            context.write_lines(lines)
        else:
            save_file.write_file(arguments.output, "".join(f"{line}\n" for line in lines))
    return 0


def _format(arguments: SimpleNamespace) -> str:
    """Return the format that `--format` or else the name of the file chooses."""
    output = arguments.output or ""
    suffix = os.path.splitext(output)[1].lower()
    named = _FORMATS.get(suffix)
    chosen = arguments.format
    if suffix not in ("", ".txt") and not named and not chosen:
        raise UsageError(
            f"cannot write '{one_line(output)}' as {one_line(suffix)}: name it .md, .html or "
            ".json, or choose one of them with --format"
        )
    return chosen or named or "md"


def _lines(
    format: str,
    shown: list[Conversation],
    include: Include,
    read: Callable[[str], bytes | None],
    on_step: OnStep,
) -> Iterator[str]:
    if format == "json":
        yield encode_document({"sessions": [conversation_fields(one, include) for one in shown]})
    elif format == "html":
        from ccgrep.output.conversation_html import html_lines  # noqa: PLC0415 - slow to import

        yield from html_lines(shown, include, read, on_step)
    else:
        yield from markdown_lines(shown, include, on_step)
