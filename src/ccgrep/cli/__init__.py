"""The command line: turns what was typed into calls of `ops`, and results into text.

Start-up is a feature: this module imports nothing heavy, and a command's module only when
that command runs.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ccgrep.refresh.look import Check

LOOKING = ("search", "stats")
"""Commands that take in what has changed before they answer."""


def entry() -> NoReturn:
    """The program. It neither looks for garbage while it is loading, nor takes itself down piece
    by piece when all is written: together that was ten milliseconds of a search."""
    gc.set_threshold(100_000)
    code = main()
    os._exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Runs `ccgrep` and gives its exit code."""
    os.umask(0o077)
    # Bytes that are no text can match nothing, and would act up wherever text is expected.
    typed = [
        word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for word in (sys.argv[1:] if arguments is None else arguments)
    ]
    check = None
    try:
        # Here, so that Ctrl-C while loading is quiet.
        if typed[:1] == ["__complete"]:
            from ccgrep.cli.completion_values import run as complete  # noqa: PLC0415 - a key is pressed

            code = complete(typed)
        else:
            check = _early_check() if _is_maybe_looking(typed) else None
            from ccgrep.cli.dispatch import run  # noqa: PLC0415

            code = run(typed, check)
        sys.stdout.flush()
        return code
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader has seen enough. Python would complain about it once more at exit.
            _drop_output()
            return 0
        sys.stderr.write(f"ccgrep: cannot write the output: {error.strerror}\n")
        _drop_output()
        return 2
    except MemoryError:
        sys.stderr.write("ccgrep: there is not enough memory; what was committed is kept\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("ccgrep: interrupted; what was committed is kept\n")
        return 130
    finally:
        if check is not None:
            check.close()


def _is_maybe_looking(typed: list[str]) -> bool:
    """Whether this may be a command that takes in what has changed, before what was typed is
    understood: words are searched for unless the first is the name of another command."""
    first = typed[0] if typed else "--help"
    if first in ("-h", "--help", "--version") or first.startswith("__") or "--no-refresh" in typed:
        return False
    module = os.path.join(os.path.dirname(__file__), "commands", f"{first}.py")
    return first in LOOKING or not (first.isalpha() and os.path.exists(module))


def _early_check() -> Check | None:
    """A look at the source files, while Python is importing the rest: a second core has nothing
    to do then. The store is where it is by default, unless a variable says so; if it is not, the
    look is of no use, and another will be begun. So it is if there can be no child now."""
    from ccgrep.refresh.check import begin_early  # noqa: PLC0415 - not for every command

    data = os.environ.get("XDG_DATA_HOME") or os.path.join(
        os.environ.get("HOME", ""), ".local", "share"
    )
    store = os.environ.get("CCGREP_DIR") or os.path.join(data, "ccgrep")
    try:
        return begin_early(os.path.abspath(store))
    except OSError:
        return None


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
