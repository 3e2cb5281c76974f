"""ccgrep pick: search interactively with fzf."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from typing import NoReturn

from ccgrep.cli import pick_callbacks
from ccgrep.cli.commands import resume
from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.cli.pick_printer import LIST_COLUMNS
from ccgrep.errors import UsageError
from ccgrep.ops.pick import past_commands
from ccgrep.output.pick_row import SEPARATOR, record_of
from ccgrep.refresh.background import BackgroundRefresh

_CALLBACK = '"$CCGREP_PYTHON" -P -m ccgrep __pick'
"""The command that fzf runs. -P keeps Python from importing modules of the current directory."""
_WIDE = 120
_PREVIEW_PERCENT = 55  # of a wide terminal
_FZF_COLUMNS = 4  # the pointer, the mark and the scroll bar
_RESUME = "ctrl-r"


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    _check_fzf(context)
    width = _terminal_width()
    finish_refresh(refresh)  # The searches that fzf runs do not refresh.
    if arguments.commands:
        return _pick_command(arguments, context)
    _handle_termination(_exit)
    with tempfile.TemporaryDirectory(prefix="ccgrep-pick-") as directory:
        mode = "--semantic" if arguments.semantic else "--words"
        pick_callbacks.State(directory).save(pick_callbacks.filter_words(arguments), mode)
        environment = {
            **context.environment,
            pick_callbacks.DIRECTORY: directory,
            LIST_COLUMNS: str(_list_columns(width)),
            "CCGREP_PYTHON": sys.executable,
            # fzf quotes for this shell. Others may parse the quotes differently.
            "SHELL": "/bin/sh",
            **({"CCGREP_REDACT": "never"} if arguments.no_redact else {}),
        }
        query = " ".join(arguments.pattern)
        search = [sys.executable, "-P", "-m", "ccgrep", "__pick", "hits", query]
        with subprocess.Popen(search, env=environment, stdout=subprocess.PIPE) as hits:
            fzf = subprocess.run(
                _fzf_command(query, width),
                env=environment,
                stdin=hits.stdout,
                stdout=subprocess.PIPE,
                check=False,
            )
            hits.terminate()
    if fzf.returncode:
        return fzf.returncode
    key, _, line = fzf.stdout.decode("utf-8", "replace").rstrip("\n").partition("\n")
    if key == _RESUME:
        _attach_terminal()
        fields = {"exec": True, "with": None, "in": None}
        chosen = SimpleNamespace(ref=pick_callbacks.record_ref(line), **fields)
        return resume.run(chosen, context, None)
    context.write(record_of(line))
    return 0


def _handle_termination(handler: Callable[[int, object], object] | signal.Handlers) -> None:
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, handler)


def _exit(number: int, _: object) -> NoReturn:
    """Exit, so that the temporary directory is removed. Ignore further signals meanwhile."""
    _handle_termination(signal.SIG_IGN)
    raise SystemExit(128 + number)


def _list_columns(width: int) -> int:
    """Return the width of the list, without the preview beside it and fzf's own columns."""
    list_width = width * (100 - _PREVIEW_PERCENT) // 100 if width >= _WIDE else width
    return list_width - _FZF_COLUMNS


def _fzf_command(query: str, width: int) -> list[str]:
    window = f"right,{_PREVIEW_PERCENT}%,wrap" if width >= _WIDE else "down,60%,wrap"
    reload = f"reload({_CALLBACK} hits {{q}})"
    return [
        "fzf",
        "--ansi",
        "--disabled",
        "--no-multi",
        "--no-sort",
        "--header-lines=1",
        f"--delimiter={SEPARATOR}",
        "--with-nth=2",
        "--prompt=ccgrep> ",
        f"--query={query}",
        f"--preview={_CALLBACK} preview {{q}} {{}}",
        f"--preview-window={window}",
        f"--expect={_RESUME}",
        f"--bind=change:{reload}",
        f"--bind=ctrl-t:execute-silent({_CALLBACK} toggle)+{reload}",
        f"--bind=ctrl-s:execute-silent({_CALLBACK} star {{}})+{reload}",
        f"--bind=ctrl-y:execute-silent({_CALLBACK} copy {{}})+change-prompt(copied> )",
        f"--bind=ctrl-o:execute-silent({_CALLBACK} open {{}})+change-prompt(opened> )",
    ]


def _pick_command(arguments: SimpleNamespace, context: Context) -> int:
    """Let the user pick a shell command that an agent ran. fzf prints it."""
    config = context.config()
    found = past_commands(config, parse_filters(arguments, context, config))
    commands = islice(found, arguments.limit or None)
    query = " ".join(arguments.pattern)
    words = ["fzf", "--no-multi", "--scheme=history", "--prompt=command> ", f"--query={query}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=context.environment) as fzf:
        assert fzf.stdin is not None
        try:
            for command in commands:
                fzf.stdin.write(f"{command}\n".encode())
            fzf.stdin.close()
        except BrokenPipeError:
            pass  # The user picked before fzf had read all lines.
    return fzf.returncode


def _check_fzf(context: Context) -> None:
    if shutil.which("fzf", path=context.environment.get("PATH")) is None:
        raise UsageError(
            "fzf is not installed: run `apt install fzf` or `brew install fzf` "
            "(https://github.com/junegunn/fzf), or use `ccgrep PATTERN`"
        )
    if context.environment.get("TERM", "dumb") == "dumb":
        raise UsageError("pick cannot draw on a terminal with TERM=dumb: use `ccgrep PATTERN`")


def _terminal_width() -> int:
    """Return the width of the controlling terminal, on which fzf draws."""
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.get_terminal_size(terminal.fileno()).columns
    except OSError:
        raise UsageError("pick needs a terminal: use `ccgrep PATTERN` instead") from None


def _attach_terminal() -> None:
    """Connect stdin and stdout to the terminal, for an agent that is resumed from a pipe."""
    terminal = os.open("/dev/tty", os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(terminal, descriptor)
