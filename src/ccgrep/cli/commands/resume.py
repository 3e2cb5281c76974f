"""ccgrep resume: the command that resumes a session."""

import os
import shlex
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.errors import UsageError
from ccgrep.ops.resume import find_resume_command
from ccgrep.text import escape, one_line, redact


def run(arguments: SimpleNamespace, context: Context) -> int:
    found = find_resume_command(context.config(), arguments.ref)
    for problem in found.problems:
        context.say(f"ccgrep: {one_line(problem)}")
    if found.problems:
        return 1
    if not arguments.exec:
        if redact(found.directory) != found.directory:
            raise UsageError(
                f"{one_line(found.directory)} has a secret in its name: --no-redact prints it, "
                "--exec goes there"
            )
        context.write(f"cd {_quoted(found.directory)} && {shlex.join(found.command)}")
        return 0
    os.chdir(found.directory)
    os.execvp(found.command[0], found.command)  # noqa: S606 - that is what was asked for
    return 0


def _quoted(path: str) -> str:
    """A path for a shell; one with characters that would act on a terminal byte by byte."""
    if escape(path) == path and "\n" not in path and "\t" not in path:
        return shlex.quote(path)
    return "$'" + "".join(f"\\x{byte:02x}" for byte in path.encode()) + "'"
