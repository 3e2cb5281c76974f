"""`ccgrep __complete KIND PREFIX`: print live values for the shell completions.

Each line has a value, a tab and a description. Errors print nothing, because they would garble the
command line that is being completed.
"""

from __future__ import annotations

from ccgrep.cli.context import Context
from ccgrep.errors import CcgrepError
from ccgrep.ops.complete import complete
from ccgrep.text import set_redaction


def run(words: list[str]) -> int:
    _, kind, prefix, *_ = (*words, "", "")
    context = Context.from_process()
    try:
        set_redaction(not context.shows_secrets(False))
        completions = complete(context.config(), kind, prefix)
    except CcgrepError:
        return 1
    context.write_lines(f"{one.text}\t{one.description}" for one in completions)
    return 0
