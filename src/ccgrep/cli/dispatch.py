"""Finds the command, runs it, and turns errors into one line and an exit status."""

from __future__ import annotations

import sys

from ccgrep import __version__
from ccgrep.cli.context import Context, read_refs
from ccgrep.cli.feedback import make_feedback
from ccgrep.cli.flags import COMMANDS, NO_REFRESH, READ_FROM, SEARCHED
from ccgrep.cli.parse import HelpAskedError, parse
from ccgrep.errors import CcgrepError, RefError, UsageError
from ccgrep.light_typing import TYPE_CHECKING, SimpleNamespace
from ccgrep.refresh import background
from ccgrep.text import one_line, set_redaction

if TYPE_CHECKING:
    from typing import Any

    from ccgrep.cli.flags import Command

_PICK, _RECALL = "__pick", "__recall"
"""The commands that fzf and a hook call. They are not in the table, because nobody types them."""


def run(typed: list[str]) -> int:
    """Run what was typed and return the exit status."""
    context = Context.from_process()
    try:
        return _dispatch(typed, context)
    except CcgrepError as error:
        sys.stdout.flush()
        context.warn(str(error))
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        context.warn(name + (error.strerror or str(error)))
        return 2


def _dispatch(typed: list[str], context: Context) -> int:
    if not typed or typed[0] in ("-h", "--help"):
        return _print_overview(typed, context)
    if typed[0] == _RECALL:  # It reads the settings itself: for a hook, no error is a failure.
        return _call("ccgrep.cli.recall_hook", typed[1:], context)
    if typed[0] == _PICK:
        set_redaction(not context.shows_secrets(False))
        return _call("ccgrep.cli.pick_callbacks", typed[1:], context)
    command = named = COMMANDS.get(typed[0])
    rest = typed[1:] if command is not None else typed
    command = command or COMMANDS["search"]
    try:
        arguments = parse(command, rest)
    except HelpAskedError as asked:
        from ccgrep.cli.help import brief, help_text  # noqa: PLC0415 - for help alone

        context.write((help_text if asked.is_whole else brief)(command, context.width))
        return 0
    except UsageError as error:
        from ccgrep.cli.suggest import suggest_command  # noqa: PLC0415 - only after an error

        hint = "" if typed[0].startswith("-") else suggest_command(typed[0], typed[1:])
        raise UsageError(f"{error}{hint}") from None
    if getattr(arguments, "version", False) is True:
        context.write(f"ccgrep {__version__}")
        return 0
    set_redaction(not _shows_secrets(command.name, arguments, context))
    try:
        code = _call_command(command, arguments, context)
    except RefError as error:
        refs = getattr(arguments, "ref", ())
        if isinstance(refs, str) or len(refs) < 2 or not all(map(str.isalpha, refs)):
            raise
        # `ccgrep show me the auth bug`: words, not REFs.
        words = one_line(" ".join(typed))
        raise RefError(f"{error}\nto search for these words: `ccgrep search {words}`") from None
    if named is None:
        _suggest_order(typed, arguments, context)
    return code


def _suggest_order(typed: list[str], arguments: SimpleNamespace, context: Context) -> None:
    """Say how to run a command that was searched for because options precede it."""
    if arguments.quiet or not arguments.pattern or arguments.pattern[0] not in COMMANDS:
        return
    from ccgrep.cli.suggest import suggest_order  # noqa: PLC0415 - `ccgrep -n 5 list` is rare

    if hint := suggest_order(typed, arguments.pattern):
        context.warn(hint)


def _call_command(command: Command, arguments: SimpleNamespace, context: Context) -> int:
    """Run a command; one that reads the store runs while a child process refreshes it.

    The command waits for the child before it reads what must be up to date.
    """
    module = f"ccgrep.cli.commands.{command.name}"
    if NO_REFRESH not in command.options:
        return _call(module, arguments, context)
    refs = getattr(arguments, "ref", None)
    if isinstance(refs, list) and refs:
        # Until its output ends, a ccgrep that prints these REFs may write to the store.
        arguments.ref = read_refs(refs)
    if arguments.no_refresh or _is_elsewhere(command, arguments):
        return _call(module, arguments, context, None)
    refresh = background.start(context.config(), make_feedback(arguments, context))
    try:
        code = _call(module, arguments, context, refresh)
        _flush()  # The child may still be tidying up.
    finally:
        refresh.close()
    return code


def _is_elsewhere(command: Command, arguments: SimpleNamespace) -> bool:
    """Return whether `-R` names servers only, so that this machine's store is not read."""
    if SEARCHED in command.options:
        return bool(arguments.remote) and "local" not in arguments.remote
    return READ_FROM in command.options and arguments.remote not in (None, "local")


def _flush() -> None:
    """Flush the output; a failure is reported by the last flush of the program."""
    try:
        sys.stdout.flush()
    except OSError:
        return


def _shows_secrets(name: str, arguments: SimpleNamespace, context: Context) -> bool:
    is_asked = getattr(arguments, "no_redact", None)
    if is_asked is None or name == "mcp":
        return bool(is_asked)  # A setting alone never shows secrets to an agent.
    return context.shows_secrets(is_asked)


def _call(module: str, *arguments: Any) -> int:
    # `__import__`, because importlib would be imported for this alone.
    code: int = __import__(module, fromlist=["run"]).run(*arguments)
    return code


def _print_overview(typed: list[str], context: Context) -> int:
    from ccgrep.cli.help import brief_overview, overview  # noqa: PLC0415 - for help alone

    if not typed and context.is_terminal:
        return _call("ccgrep.cli.welcome", context)
    is_whole = typed[:1] == ["--help"]
    context.write((overview if is_whole else brief_overview)(context.width))
    return 0 if typed else 2
