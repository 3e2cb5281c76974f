"""ccgrep resume: print or run the command that resumes a session."""

import os
import shlex
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.kinds import SourceName
from ccgrep.ops.restore import RestoreOptions, restore
from ccgrep.ops.resume import ResumeCommand, find_resume_command, hand_over_session
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.text import escape, one_line, redact


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config, client, chosen = context.config(), vars(arguments)["with"], vars(arguments)["in"]
    directory = os.path.abspath(chosen) if chosen else ""
    current = _find_current_directory()
    finish_refresh(refresh)
    if client:
        source: SourceName = "codex" if client == "codex" else "claude_code"
        resumption = hand_over_session(config, arguments.ref, source, directory, current)
    else:
        resumption = find_resume_command(config, arguments.ref, directory, current)
    for problem in resumption.problems:
        context.warn(one_line(problem))
    if resumption.problems:
        return 1
    if resumption.is_missing:
        _restore(config, resumption, context)
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


def _restore(config: Config, resumption: ResumeCommand, context: Context) -> None:
    """Write the transcript to where the client looks for it."""
    options = RestoreOptions(folder=os.path.dirname(resumption.transcript))
    files = restore(config, resumption.session, options)
    if any(file.state == "different" for file in files):
        raise UsageError(
            f"cannot restore {resumption.session}, other files are in its place: "
            f"see `ccgrep restore {resumption.session} --dry-run`"
        )
    for file in files:
        if file.state in ("restored", "rebuilt"):
            context.warn(f"{file.state} {one_line(file.path)}")


def _find_current_directory() -> str:
    """Return the current directory, or "" if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _quote(path: str) -> str:
    """Quote a path for the shell. Encode it as hex if it has control characters."""
    if escape(path) == path and "\n" not in path and "\t" not in path:
        return shlex.quote(path)
    return "$'" + "".join(f"\\x{byte:02x}" for byte in path.encode()) + "'"
