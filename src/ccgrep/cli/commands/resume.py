"""ccgrep resume: the command that resumes a session."""

import os
import shlex
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.ops import sessions
from ccgrep.text import escape


def run(arguments: SimpleNamespace, context: Context) -> int:
    found = sessions.resumption(context.config(), arguments.ref)
    for trouble in found.troubles:
        context.say(f"ccgrep: {escape(trouble)}")
    if found.troubles:
        return 1
    if not arguments.exec:
        context.write(escape(f"cd {shlex.quote(found.directory)} && {shlex.join(found.command)}"))
        return 0
    os.chdir(found.directory)
    os.execvp(found.command[0], found.command)  # noqa: S606 - that is what was asked for
    return 0
