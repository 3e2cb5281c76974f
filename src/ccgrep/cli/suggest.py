"""Suggest the command that the user meant to type.

ccgrep takes an unknown command for a pattern. It therefore imports this module only after an
error, or after a search without hits.
"""

import difflib

from ccgrep.cli.flags import COMMANDS
from ccgrep.text import one_line

_SIMILARITY = 0.7


def suggest_command(word: str, rest: list[str]) -> str:
    """Return a question to append to a message, or "" if no command is similar to the word."""
    names = difflib.get_close_matches(word, COMMANDS, 2, _SIMILARITY)
    if not names or word in COMMANDS:
        return ""
    commands = [one_line(" ".join(["ccgrep", name, *rest])) for name in names]
    return f"; did you mean {' or '.join(f'`{command}`' for command in commands)}?"
