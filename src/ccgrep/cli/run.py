"""Finds the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from ccgrep import __version__
from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.parse import HelpAskedError, help_text, overview, parse
from ccgrep.errors import CcgrepError
from ccgrep.index.freshness import Check
from ccgrep.ops.check import begin_check
from ccgrep.text import escape

_LOOKING = ("search", "stats")
"""Commands that take in what has changed before they answer."""


def run(typed: list[str]) -> int:
    context = Context.from_process()
    try:
        return _dispatch(typed, context)
    except CcgrepError as error:
        sys.stdout.flush()
        context.say(f"ccgrep: {escape(str(error))}")
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        context.say(f"ccgrep: {escape(name + (error.strerror or str(error)))}")
        return 2


def _dispatch(typed: list[str], context: Context) -> int:
    if not typed or typed[0] in ("-h", "--help"):
        context.write(overview().rstrip("\n"))
        return 0 if typed else 2
    if typed[0] in ("-V", "--version"):
        context.write(f"ccgrep {__version__}")
        return 0
    command = COMMANDS.get(typed[0])
    rest = typed[1:] if command is not None else typed
    command = command or COMMANDS["search"]
    try:
        arguments = parse(command, rest)
    except HelpAskedError:
        context.write(help_text(command))
        return 0
    early = _begun(arguments, context) if command.name in _LOOKING else ()
    # importlib would be imported for this alone.
    module = __import__(f"ccgrep.cli.commands.{command.name}", fromlist=["run"])
    code: int = module.run(arguments, context, *early)
    return code


def _begun(arguments: SimpleNamespace, context: Context) -> tuple[Check, ...]:
    """They look for changes first of all: while Python is importing the rest of it."""
    return () if arguments.no_refresh else (begin_check(context.config()),)
