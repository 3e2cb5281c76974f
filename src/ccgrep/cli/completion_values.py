"""`ccgrep __complete KIND PREFIX`: what the completions of all three shells ask for.

One value a line, a tab, what it is. Nothing is said when there is nothing to say: a shell that
completes has no place for it.
"""

from __future__ import annotations

from ccgrep.cli.context import Context
from ccgrep.errors import CcgrepError
from ccgrep.ops.complete import complete
from ccgrep.text import set_redaction


def run(typed: list[str]) -> int:
    _, kind, prefix, *_ = (*typed, "", "")
    context = Context.from_process()
    try:
        set_redaction(not context.shows_secrets(False))
        completions = complete(context.config(), kind, prefix)
    except CcgrepError:
        return 1
    context.write_lines(f"{one.text}\t{one.description}" for one in completions)
    return 0
