"""ccgrep export: conversations as Markdown, an HTML page or JSON."""

import os
from collections.abc import Iterator
from types import SimpleNamespace

from ccgrep.cli.context import Context, refs_from
from ccgrep.ops import save_file, sessions
from ccgrep.ops.sessions import Shown
from ccgrep.output import json, markdown

_FORMATS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config()
    shown = [sessions.show(config, ref) for ref in refs_from(arguments.ref)]
    wanted = markdown.With(arguments.tools, arguments.thinking)
    suffix = os.path.splitext(arguments.output or "")[1].lower()
    lines = _lines(arguments.format or _FORMATS.get(suffix, "md"), shown, wanted)
    if arguments.output is None:
        context.write_lines(lines)
    else:
        save_file.write_file(arguments.output, "".join(f"{line}\n" for line in lines))
    return 0


def _lines(format: str, shown: list[Shown], wanted: markdown.With) -> Iterator[str]:
    if format == "json":
        yield json.dumps({"sessions": [json.shown(one, *wanted) for one in shown]})
    elif format == "html":
        from ccgrep.output.page import page  # noqa: PLC0415 - its libraries are slow to import

        yield from page(shown, wanted)
    else:
        yield from markdown.document(shown, wanted)
