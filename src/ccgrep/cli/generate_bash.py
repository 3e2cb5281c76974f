"""Fill the template of the bash completions from the flag table, for bash 3.2 and later.

The script contains all commands, options and choices of the table. It runs ccgrep only for live
values such as session ids. These come from transcripts, so the script quotes them before they
reach the command line.
"""

import shlex
from collections.abc import Iterable, Iterator

from ccgrep.cli.flags import COMMANDS, HELP


def parts() -> dict[str, str]:
    commands = [f"{c.name}\t{c.summary}" for c in COMMANDS.values()]
    return {
        "names": " | ".join(COMMANDS),
        "commands": _assign(commands, " " * 4),
        "options": "\n".join(_options()),
        "values": "\n".join(_values()),
        "arguments": "\n".join(_arguments()),
    }


def _options() -> Iterator[str]:
    for command in COMMANDS.values():
        options = [f"{name}\t{o.summary}" for o in (*command.options, HELP) for name in o.names]
        yield _case(command.name, options)


def _values() -> Iterator[str]:
    """Yield a case for each kind of value. Its patterns are COMMAND:OPTION."""
    patterns: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for command in COMMANDS.values():
        for option in command.options:
            if option.value:
                names = patterns.setdefault((option.choices, option.completion), [])
                names += [f"{command.name}:{name}" for name in option.names]
    for (choices, completion), names in patterns.items():
        yield _case(" | ".join(names), choices, completion)


def _arguments() -> Iterator[str]:
    for command in COMMANDS.values():
        for argument in command.arguments:
            if argument.choices or argument.completion:
                yield _case(command.name, argument.choices, argument.completion)


def _case(pattern: str, candidates: Iterable[str], completion: str = "") -> str:
    indent = " " * 12
    body = _assign(candidates, indent) if candidates else f"{indent}kind={completion}"
    return f"        {pattern})\n{body}\n{indent};;"


def _assign(candidates: Iterable[str], indent: str) -> str:
    quoted = [f"{indent}    {_quote(line)}" for line in candidates]
    return "\n".join([f"{indent}candidates=(", *quoted, f"{indent})"])


def _quote(line: str) -> str:
    """Quote a line for the shell, with a visible tab that survives an editor."""
    value, tab, text = line.partition("\t")
    return shlex.quote(value) + ("$'\\t'" + shlex.quote(text) if tab else "")
