"""The screen for a bare `ccgrep` on a terminal: what is indexed, and how to start."""

from __future__ import annotations

import os

from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.help import synopsis
from ccgrep.errors import CcgrepError
from ccgrep.ops import status as ops
from ccgrep.output.formatting import pluralize, short_age
from ccgrep.text import one_line

_COMMANDS = ("list", "show", "pick", "status")


def run(context: Context) -> int:
    rows = [(COMMANDS["search"].examples[0][0], "search all past conversations")]
    rows += [(synopsis(COMMANDS[name]), COMMANDS[name].summary) for name in _COMMANDS]
    left = max(len(typed) for typed, _ in rows)
    context.write(f"{_describe_store(context)}\n")
    for typed, meaning in rows:
        line = f"  {typed:<{left}}  {meaning}"
        context.write(line if len(line) <= context.width else f"  {typed}\n      {meaning}")
    more = "Run `ccgrep -h` for more, or `ccgrep --help` for everything."
    context.write(f"\n{context.style.dim(more)}")
    return 2


def _describe_store(context: Context) -> str:
    config = context.config()
    if not os.path.exists(config.store_dir):
        roots = ", ".join(sorted({one_line(root.path) for root in config.roots}))
        if not roots:
            return "No transcripts found: no agent has a directory such as ~/.claude or ~/.codex."
        return f"Nothing is indexed yet. The first search indexes {roots}."
    try:
        status = ops.status(config)
    except CcgrepError as error:
        return f"The index cannot be read: {one_line(str(error))}"
    text = f"{pluralize(status.turns, 'turn')} in {pluralize(status.sessions, 'session')}"
    if status.last_indexed:
        text += f", indexed {short_age(status.last_indexed, context.now_ms)} ago"
    if files := status.behind.files:
        text += f". The next search indexes {pluralize(files, 'changed file')}"
    return f"{text}."
