"""From the flag table to an argparse parser, and to help."""

import argparse
from typing import NoReturn

from ccgrep.cli.flags import COMMANDS, Argument, Command, Option
from ccgrep.errors import UsageError

_SHIELD = "\0"  # cannot stand in an argument


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        hint = ""
        command = self.prog.removeprefix("ccgrep ")
        if message.startswith("unrecognized arguments: ") and command != "search":
            words = message.partition(": ")[2]
            hint = f"; to search for these words: `ccgrep search {command} {words}`"
        raise UsageError(f"{message}; see `{self.prog} --help`{hint}")


def parse(command: Command, typed: list[str]) -> argparse.Namespace:
    """What was typed behind the command's name."""
    parser = _Parser(
        prog=f"ccgrep {command.name}",
        description=command.description,
        epilog=_epilog(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for option in command.options:
        _add_option(parser, option)
    for argument in command.arguments:
        _add_argument(parser, argument)
    found = parser.parse_intermixed_args(_shielded(typed))
    for argument in command.arguments:
        name = argument.name.lower()
        value = getattr(found, name)
        bare = (
            [one.removeprefix(_SHIELD) for one in value]
            if isinstance(value, list)
            else (value.removeprefix(_SHIELD))
        )
        setattr(found, name, bare)
    return found


def _shielded(typed: list[str]) -> list[str]:
    """What was typed, with everything behind `--` made safe from being taken for an option.

    argparse loses the meaning of `--` when options stand between words.
    """
    if "--" not in typed:
        return typed
    at = typed.index("--")
    return typed[:at] + [_SHIELD + word for word in typed[at + 1 :]]


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    if option.kind == "flag":
        parser.add_argument(*option.names, action="store_true", help=option.help)
        return
    parser.add_argument(
        *option.names,
        action="append" if option.kind == "list" else "store",
        type=int if option.kind == "int" else str,
        choices=option.choices or None,
        metavar=option.metavar,
        help=option.help,
    )


def _add_argument(parser: argparse.ArgumentParser, argument: Argument) -> None:
    parser.add_argument(
        argument.name.lower(),
        metavar=argument.name,
        nargs=None if argument.repeat == "1" else argument.repeat,
        help=argument.help,
    )


def _epilog(command: Command) -> str:
    lines: list[str] = []
    if command.examples:
        lines.append("examples:")
        lines += [f"  {text}\n      {what}" for text, what in command.examples]
    lines.append("exit status:")
    lines += [f"  {code:<4} {meaning}" for code, meaning in command.exit_status]
    return "\n".join(lines)


def overview() -> str:
    """What `ccgrep --help` prints."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {c.name:<{width}}  {c.summary}" for c in COMMANDS.values())
    return (
        "usage: ccgrep [OPTION…] PATTERN…\n"
        "       ccgrep COMMAND [OPTION…] [REF…]\n\n"
        "grep for a developer's history with coding agents\n\n"
        f"commands:\n{commands}\n\n"
        "`ccgrep COMMAND --help` tells more; `ccgrep search --help` about searching.\n"
    )
