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
    try:
        # Here, so that Ctrl-C while loading is quiet.
        if typed[:1] == ["__complete"]:
            from ccgrep.cli.live import run  # noqa: PLC0415 - a shell waits, with a key pressed
        else:
            from ccgrep.cli.run import run  # noqa: PLC0415
        code = run(typed)
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


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
