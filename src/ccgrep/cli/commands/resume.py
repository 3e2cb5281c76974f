"""ccgrep resume: print or run the command that resumes a session."""

import os
import shlex
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import refresh_now
from ccgrep.errors import UsageError
from ccgrep.kinds import SourceName
from ccgrep.ops.resume import find_resume_command, hand_over_session
from ccgrep.text import escape, one_line, redact


def run(arguments: SimpleNamespace, context: Context) -> int:
    config, client = context.config(), getattr(arguments, "with")
    if client:
        refresh_now(context)  # The new session has the turns of this minute too.
        target: SourceName = "codex" if client == "codex" else "claude_code"
        resumption = hand_over_session(config, arguments.ref, target)
    else:
        resumption = find_resume_command(config, arguments.ref)
    for problem in resumption.problems:
        context.warn(one_line(problem))
    if resumption.problems:
        return 1
    directory, command = resumption.directory, resumption.command
    if not arguments.exec:
        if redact(directory) != directory:
            raise UsageError(
                f"the path {one_line(directory)} contains a secret: use --no-redact to print it, "
                "or --exec to resume"
            )
        context.write(f"cd {_quote(directory)} && {shlex.join(command)}")
        return 0
    os.chdir(directory)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the purpose of --exec
    except FileNotFoundError:
        raise UsageError(f"{command[0]} was not found: install it, or add it to PATH") from None
    return 0


def _quote(path: str) -> str:
    """Quote a path for the shell. Encode it as hex if it has control characters."""
    if escape(path) == path and "\n" not in path and "\t" not in path:
        return shlex.quote(path)
    return "$'" + "".join(f"\\x{byte:02x}" for byte in path.encode()) + "'"
