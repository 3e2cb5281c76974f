"""Suggest the command or option that the user meant to type.

ccgrep takes an unknown command for a pattern. It therefore imports this module only after an
error, or after a search without hits.
"""

import difflib
from collections.abc import Iterable

from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.parse import HelpAskedError, parse
from ccgrep.errors import UsageError
from ccgrep.text import one_line

_SIMILARITY = 0.7
_MAX_OWNERS = 3


def suggest_command(word: str, rest: list[str]) -> str:
    """Return a question to append to a message, or "" if no command is similar to the word."""
    if word == "help" and all(name in COMMANDS for name in rest):
        return f"; for help, run `{' '.join(['ccgrep', *rest, '--help'])}`"
    names = difflib.get_close_matches(word, COMMANDS, 2, _SIMILARITY)
    if not names or word in COMMANDS:
        return ""
    commands = [one_line(" ".join(["ccgrep", name, *rest])) for name in names]
    return f"; did you mean {' or '.join(f'`{command}`' for command in commands)}?"


def suggest_order(typed: list[str], patterns: list[str]) -> str:
    """Return what to do if options precede a command, which is then a word to search for.

    Nothing is suggested if the command would not take all of the options.
    """
    word = patterns[0]
    rest = list(typed)
    rest.remove(word)
    try:
        parse(COMMANDS[word], rest)
    except (UsageError, HelpAskedError):
        return ""
    command = one_line(" ".join(["ccgrep", word, *rest]))
    return f"searched for '{word}': to run the command, type it first: `{command}`"


def suggest_option(typed: str, names: Iterable[str]) -> str:
    """Return what to do about an unknown option, or "" if nothing is similar to it."""
    word = typed.partition("=")[0]
    owners = [
        f"`ccgrep {command.name}`"
        for command in COMMANDS.values()
        if any(word in option.names for option in command.options)
    ]
    if len(owners) > _MAX_OWNERS:
        return f"only {len(owners)} other commands have it, such as {owners[0]}"
    if owners:
        return f"it is an option of {' and '.join(owners)}"
    long_names = {name.lstrip("-"): name for name in names if name.startswith("--")}
    bare = word.lstrip("-")
    longer = [name for name in long_names if len(bare) > 1 and name.startswith(bare)]
    near = longer or difflib.get_close_matches(bare, long_names, 1, _SIMILARITY)
    return f"did you mean {long_names[near[0]]}?" if near else ""
