"""ccgrep pick: search as you type, in fzf."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import NoReturn

from ccgrep.cli import pick_callbacks
from ccgrep.cli.commands import resume
from ccgrep.cli.context import Context
from ccgrep.cli.feedback import clear_progress_bar, make_feedback
from ccgrep.cli.filter_options import filters_of
from ccgrep.errors import UsageError
from ccgrep.ops.pick import past_commands
from ccgrep.refresh.update import bring_up_to_date

_CALL = '"$CCGREP_PYTHON" -P -m ccgrep __pick'
"""How fzf calls back. -P: no module of the current directory is imported in ccgrep's place."""
_WIDE = 120
_RESUME = "ctrl-r"


def run(arguments: SimpleNamespace, context: Context) -> int:
    _need_fzf(context)
    width = _terminal_width()
    _refresh(context)
    if arguments.commands:
        return _pick_command(arguments, context)
    _on_end(_leave)
    with tempfile.TemporaryDirectory(prefix="ccgrep-pick-") as directory:
        mode = "--semantic" if arguments.semantic else ""
        pick_callbacks.State(directory).save(pick_callbacks.options_of(arguments), mode)
        environment = {
            **context.environment,
            pick_callbacks.DIRECTORY: directory,
            "CCGREP_PYTHON": sys.executable,
            # fzf quotes for this shell; another one would read the quotes in its own way.
            "SHELL": "/bin/sh",
            **({"CCGREP_REDACT": "never"} if arguments.no_redact else {}),
        }
        query = " ".join(arguments.pattern)
        first = [sys.executable, "-P", "-m", "ccgrep", "__pick", "hits", query]
        with subprocess.Popen(first, env=environment, stdout=subprocess.PIPE) as hits:
            done = subprocess.run(
                _fzf(query, width),
                env=environment,
                stdin=hits.stdout,
                stdout=subprocess.PIPE,
                check=False,
            )
            hits.terminate()
    if done.returncode:
        return done.returncode
    pressed, _, line = done.stdout.decode("utf-8", "replace").rstrip("\n").partition("\n")
    if pressed == _RESUME:
        _to_terminal()
        return resume.run(SimpleNamespace(ref=pick_callbacks.ref_of(line), exec=True), context)
    context.write(line)
    return 0


def _on_end(handler: Callable[[int, object], object] | signal.Handlers) -> None:
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, handler)


def _leave(number: int, _: object) -> NoReturn:
    """The terminal was closed, say: what is temporary goes too, whoever tells it once more."""
    _on_end(signal.SIG_IGN)
    raise SystemExit(128 + number)


def _fzf(query: str, width: int) -> list[str]:
    window = "right,55%,wrap" if width >= _WIDE else "down,60%,wrap"
    reload = f"reload({_CALL} hits {{q}})"
    return [
        "fzf",
        "--ansi",
        "--disabled",
        "--no-multi",
        "--no-sort",
        "--header-lines=1",
        "--delimiter=:",
        "--prompt=ccgrep> ",
        f"--query={query}",
        f"--preview={_CALL} preview {{q}} {{}}",
        f"--preview-window={window}",
        f"--expect={_RESUME}",
        f"--bind=change:{reload}",
        f"--bind=ctrl-t:execute-silent({_CALL} toggle)+{reload}",
        f"--bind=ctrl-y:execute-silent({_CALL} copy {{}})+change-prompt(copied> )",
        f"--bind=ctrl-o:execute-silent({_CALL} open {{}})+change-prompt(opened> )",
    ]


def _pick_command(arguments: SimpleNamespace, context: Context) -> int:
    """Lets fzf choose among the commands that were run; what it prints is the command."""
    config = context.config()
    commands = past_commands(config, filters_of(arguments, context, config))
    query = " ".join(arguments.pattern)
    words = ["fzf", "--no-multi", "--scheme=history", "--prompt=command> ", f"--query={query}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=context.environment) as fzf:
        assert fzf.stdin is not None
        try:
            for command in commands:
                fzf.stdin.write(f"{command}\n".encode())
            fzf.stdin.close()
        except BrokenPipeError:
            pass  # Chosen before all were read.
    return fzf.returncode


def _need_fzf(context: Context) -> None:
    if shutil.which("fzf", path=context.environment.get("PATH")) is None:
        raise UsageError(
            "pick needs fzf: install it with `apt install fzf` or `brew install fzf` "
            "(https://github.com/junegunn/fzf); `ccgrep PATTERN` works without"
        )
    if context.environment.get("TERM", "dumb") == "dumb":
        raise UsageError("pick draws on the terminal, which TERM=dumb cannot: use `ccgrep PATTERN`")


def _terminal_width() -> int:
    """That of the terminal on which fzf draws, wherever the output goes."""
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.get_terminal_size(terminal.fileno()).columns
    except OSError:
        raise UsageError("pick needs a terminal: use `ccgrep PATTERN` here") from None


def _refresh(context: Context) -> None:
    """Refresh the store once; searches while the user types do not."""
    try:
        bring_up_to_date(context.config(), make_feedback(SimpleNamespace(quiet=False), context))
    finally:
        clear_progress_bar()


def _to_terminal() -> None:
    """What is resumed talks to the terminal, also when what is chosen goes into a pipe."""
    terminal = os.open("/dev/tty", os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(terminal, descriptor)
