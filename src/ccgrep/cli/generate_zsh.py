"""Fill the template of the zsh completions: one `_arguments` call per command.

zsh loads the script from the fpath as `_ccgrep`, or sources it after compinit.
"""

from collections.abc import Iterator

from ccgrep.cli.flags import COMMANDS, HELP, Argument, Command, Option

_ACTIONS = {"": " ", "file": "_files", "dir": "_files -/"}


def parts() -> dict[str, str]:
    commands = (f"{c.name}:{_escape_colons(c.summary)}" for c in COMMANDS.values())
    return {
        "names": "|".join(COMMANDS),
        "commands": "\n".join(f"        {_quote(command)}" for command in commands),
        "options": "\n".join(map(_case, COMMANDS.values())),
    }


def _case(command: Command) -> str:
    specs = [spec for option in (*command.options, HELP) for spec in _option(option)]
    specs += [_argument(argument) for argument in command.arguments]
    words = " \\\n                ".join(["_arguments -s -S", *map(_quote, specs)])
    return f"        ({command.name})\n            {words}\n            ;;"


def _option(option: Option) -> Iterator[str]:
    others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    prefix = "*" if option.is_repeatable else others
    for name in option.names:
        joint = value = ""
        if option.value:
            joint = "=" if name.startswith("--") else "+"
            value = f":{option.placeholder}:{_action(option)}"
        yield f"{prefix}{name}{joint}[{_escape_brackets(option.summary)}]{value}"


def _argument(argument: Argument) -> str:
    position = "1" if argument.repeat == "1" else "*"
    # An empty action would print a message and keep zsh from completing options here.
    is_known = argument.choices or argument.completion
    return f"{position}:{argument.name}:{_action(argument) if is_known else '{ false }'}"


def _action(item: Option | Argument) -> str:
    if item.choices:
        return f"({' '.join(item.choices)})"
    return _ACTIONS.get(item.completion) or f"{{ _ccgrep_live {item.completion} }}"


def _escape_brackets(text: str) -> str:
    return _escape_colons(text).replace("[", "\\[").replace("]", "\\]")


def _escape_colons(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
