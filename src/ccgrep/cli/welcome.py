"""What `ccgrep` alone shows on a terminal: what is there to be searched, and how to begin."""

from __future__ import annotations

import os

from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.help import synopsis
from ccgrep.errors import CcgrepError
from ccgrep.ops import status as ops
from ccgrep.output.formatting import pluralize, short_age
from ccgrep.text import one_line

_FIRST = ("list", "show", "pick", "status")


def run(context: Context) -> int:
    style = context.style
    context.write(_state(context))
    context.write("")
    examples = COMMANDS["search"].examples[0][0], *(synopsis(COMMANDS[name]) for name in _FIRST)
    meanings = ("the turns that match", *(COMMANDS[name].summary for name in _FIRST))
    width = max(map(len, examples))
    for typed, meaning in zip(examples, meanings, strict=True):
        line = f"  {typed:<{width}}  {meaning}"
        context.write(line if len(line) <= context.width else f"  {typed}\n      {meaning}")
    context.write("")
    context.write(style.dim("`ccgrep -h` for more, `ccgrep --help` for everything"))
    return 2


def _state(context: Context) -> str:
    config = context.config()
    if not os.path.exists(config.store_dir):
        places = ", ".join(sorted({one_line(root.path) for root in config.roots}))
        if not places:
            return "There are no transcripts yet: neither ~/.claude nor ~/.codex is there."
        return f"Nothing is indexed yet: the first search takes in {places}."
    try:
        status = ops.status(config)
    except CcgrepError as error:
        return f"The index cannot be read: {one_line(str(error))}"
    held = f"{pluralize(status.turns, 'turn')} in {pluralize(status.sessions, 'session')}"
    when = (
        f", taken in {short_age(status.last_indexed, context.now_ms)} ago"
        if status.last_indexed
        else ""
    )
    behind = status.behind.files
    rest = f"; {pluralize(behind, 'file')} changed since, which a search takes in" if behind else ""
    return f"{held}{when}{rest}."
