"""Generate the fish completions from the flag table: one line per option of each command."""

from __future__ import annotations

from ccgrep.cli.flags import COMMANDS, HELP
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccgrep.cli.flags import Argument, Command, Option

_HEAD = """\
# ccgrep completions for fish, generated from src/ccgrep/cli/flags.py by scripts/generate.

function __ccgrep_is -d 'Test whether the command line runs this command'
    set -l words (commandline -opc)
    set -l command search
    if set -q words[2]; and contains -- $words[2] {names}
        set command $words[2]
    end
    test $command = $argv[1]
end

function __ccgrep_is_first -d 'Test whether the cursor is on the first word'
    test (count (commandline -opc)) -eq 1
end

function __ccgrep_live -d 'Print values that only ccgrep knows'
    set -l word (commandline -ct | string replace -r '^--[^=]*=' '')
    ccgrep __complete $argv[1] "$word" 2>/dev/null
end

complete -c ccgrep -f
"""


def script() -> str:
    lines = [
        *(f"complete -c ccgrep -n __ccgrep_is_first -a {c.name} -d {_quote(c.summary)}"
          for c in COMMANDS.values()),
        *(line for command in COMMANDS.values() for line in _command(command)),
    ]  # fmt: skip
    return _HEAD.replace("{names}", " ".join(COMMANDS)) + "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    begin = f"complete -c ccgrep -n '__ccgrep_is {command.name}'"
    for option in (*command.options, HELP):
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        values = f" {_values(option)}" if option.value else ""
        yield f"{begin} {names}{values} -d {_quote(option.summary)}"
    for argument in command.arguments:
        if argument.choices or argument.completion:
            yield f"{begin} -n 'not __ccgrep_is_first' {_values(argument)}"


def _values(item: Option | Argument) -> str:
    if item.choices:
        return f"-x -a {_quote(' '.join(item.choices))}"
    if item.completion == "file":
        return "-r -F"
    if item.completion == "dir":
        return "-x -a '(__fish_complete_directories)'"
    return f"-x -k -a '(__ccgrep_live {item.completion})'" if item.completion else "-x"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
