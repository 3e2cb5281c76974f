"""ccgrep completions: print shell completions."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.generate import completions, keys


def run(arguments: SimpleNamespace, context: Context) -> int:
    text = completions(arguments.shell)
    if arguments.keys:
        text += "\n" + keys(arguments.shell)
    context.write(text.rstrip("\n"))
    return 0
