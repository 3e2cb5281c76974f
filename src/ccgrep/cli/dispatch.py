"""Finds the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import sys

from ccgrep import __version__
from ccgrep.cli import LOOKING
from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.parse import HelpAskedError, parse
from ccgrep.errors import CcgrepError, RefError, UsageError
from ccgrep.light_typing import TYPE_CHECKING, SimpleNamespace
from ccgrep.refresh.check import begin_check
from ccgrep.text import escape, one_line, set_redaction

if TYPE_CHECKING:
    from typing import Any

    from ccgrep.refresh.look import Check

_WITHOUT_MSGSPEC = ("completions", "mcp", "search", "setup")

_PICK = "__pick"
"""What fzf calls. No part of the table: nobody types it."""


def run(typed: list[str], check: Check | None = None) -> int:
    """Runs what was typed; `check` is a look at the source files for whom that is of use."""
    context = Context.from_process()
    try:
        return _dispatch(typed, context, check)
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


def _dispatch(typed: list[str], context: Context, check: Check | None) -> int:
    if not typed or typed[0] in ("-h", "--help"):
        return _introduced(typed, context)
    if typed[0] == _PICK:
        set_redaction(not context.shows_secrets(False))
        return _called("ccgrep.cli.pick_callbacks", typed[1:], context)
    command = COMMANDS.get(typed[0])
    rest = typed[1:] if command is not None else typed
    command = command or COMMANDS["search"]
    try:
        arguments = parse(command, rest)
    except HelpAskedError as asked:
        from ccgrep.cli.help import brief, help_text  # noqa: PLC0415 - for help alone

        context.write((help_text if asked.is_whole else brief)(command, context.width))
        return 0
    except UsageError as error:
        from ccgrep.cli.suggest import meant_command  # noqa: PLC0415 - for who mistyped

        raise UsageError(f"{error}{meant_command(typed[0], typed[1:])}") from None
    if getattr(arguments, "version", False):
        context.write(f"ccgrep {__version__}")
        return 0
    set_redaction(not _shows_secrets(command.name, arguments, context))
    is_looking = command.name in LOOKING and not arguments.no_refresh
    checks = (begin_check(context.config(), check),) if is_looking else ()
    if command.name not in _WITHOUT_MSGSPEC:
        from ccgrep.quick import import_msgspec  # noqa: PLC0415 - not for a plain search

        import_msgspec()
    try:
        code = _called(f"ccgrep.cli.commands.{command.name}", arguments, context, *checks)
        for wanted in checks:
            _flush()  # It may be putting the store in order.
            wanted.close()
        return code
    except RefError as error:
        refs = getattr(arguments, "ref", ())
        if isinstance(refs, str) or len(refs) < 2 or not all(map(str.isalpha, refs)):
            raise
        # `ccgrep show me the auth bug`: words, not REFs.
        words = one_line(" ".join(typed))
        raise RefError(f"{error}\nto search for these words: `ccgrep search {words}`") from None


def _flush() -> None:
    """Whether all could be written is asked once more at the end, and told there."""
    try:
        sys.stdout.flush()
    except OSError:
        return


def _shows_secrets(name: str, arguments: SimpleNamespace, context: Context) -> bool:
    is_asked = getattr(arguments, "no_redact", None)
    if is_asked is None or name == "mcp":
        return bool(is_asked)  # An agent is shown them only by who started its server so.
    return context.shows_secrets(is_asked)


def _called(module: str, *arguments: Any) -> int:
    # importlib would be imported for this alone.
    code: int = __import__(module, fromlist=["run"]).run(*arguments)
    return code


def _introduced(typed: list[str], context: Context) -> int:
    """What somebody sees who asks for help, or who does not know yet what to ask."""
    from ccgrep.cli.help import brief_overview, overview  # noqa: PLC0415 - for help alone

    if not typed and context.is_terminal:
        return _called("ccgrep.cli.welcome", context)
    is_whole = typed[:1] == ["--help"]
    context.write((overview if is_whole else brief_overview)(context.width))
    return 0 if typed else 2
