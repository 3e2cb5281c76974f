"""What somebody meant who mistyped a command: its first word is then taken for a pattern.

Imported only when something went wrong, or nothing was found.
"""

import difflib

from ccgrep.cli.flags import COMMANDS
from ccgrep.text import one_line

_NEAR = 0.7


def meant_command(word: str, rest: list[str]) -> str:
    """A question to put behind a message; nothing if no command is like that."""
    near = difflib.get_close_matches(word, COMMANDS, 2, _NEAR)
    if not near or word in COMMANDS:
        return ""
    typed = [one_line(" ".join(["ccgrep", name, *rest])) for name in near]
    return f"; did you mean {' or '.join(f'`{words}`' for words in typed)}?"
