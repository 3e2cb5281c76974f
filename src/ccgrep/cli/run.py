"""Finds the command, runs it, and turns errors into one line and an exit code."""

import importlib
import sys

from ccgrep import __version__
from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.parse import overview, parse
from ccgrep.errors import CcgrepError, UsageError
from ccgrep.text import escape, one_line


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
    if command is None:
        raise UsageError(_unknown(typed[0]))
    arguments = parse(command, typed[1:])
    module = importlib.import_module(f"ccgrep.cli.commands.{command.name}")
    code: int = module.run(arguments, context)
    return code


def _unknown(word: str) -> str:
    import difflib  # noqa: PLC0415 - for the one who mistyped

    near = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f"did you mean `ccgrep {near[0]}`?" if near else "see `ccgrep --help`"
    return f"{one_line(word)} is not a command (search comes with the next version); {hint}"
