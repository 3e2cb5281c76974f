"""The command line: turns arguments into calls of `ops`, and results into text.

Start-up is a feature: this module imports nothing heavy, and a command's module only when that
command runs.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def entry() -> NoReturn:
    """Run the program.

    Garbage collection while loading and the interpreter's teardown would cost ten milliseconds.
    """
    gc.set_threshold(100_000)
    code = main()
    os._exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Run `ccgrep` and return its exit status."""
    os.umask(0o077)
    # Undecodable bytes match nothing, and would fail wherever text is expected.
    typed = [
        word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for word in (sys.argv[1:] if arguments is None else arguments)
    ]
    try:
        # Imported here, so that Ctrl-C during the import is quiet.
        if typed[:1] == ["__complete"]:
            from ccgrep.cli.completion_values import run as complete  # noqa: PLC0415

            code = complete(typed)
        else:
            from ccgrep.cli.dispatch import run  # noqa: PLC0415

            code = run(typed)
        sys.stdout.flush()
        return code
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader closed the pipe. Python would complain once more at exit.
            _drop_output()
            return 0
        sys.stderr.write(f"ccgrep: cannot write the output: {error.strerror}\n")
        _drop_output()
        return 2
    except MemoryError:
        sys.stderr.write("ccgrep: out of memory; everything committed is kept\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("ccgrep: interrupted; everything committed is kept\n")
        return 130


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
