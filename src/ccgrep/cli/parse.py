"""From the flag table to an argparse parser, and to help."""

import argparse
from typing import NoReturn

from ccgrep.cli.flags import COMMANDS, Argument, Command, Option
from ccgrep.errors import UsageError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


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
    return parser.parse_args(typed)


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
        "usage: ccgrep COMMAND [OPTION…] [REF…]\n\n"
        "grep for a developer's history with coding agents\n\n"
        f"commands:\n{commands}\n\n"
        "`ccgrep COMMAND --help` tells more.\n"
    )
