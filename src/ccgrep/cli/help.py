"""Format the help screens from the flag table.

`-h` fits on one screen of 24 lines, `--help` prints everything. Both start with examples and are
no wider than the terminal. Only commands that print help import this module.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ccgrep.cli.flags import COMMANDS, HELP, Command, Option

MAX_WIDTH = 80
_MAX_BRIEF_OPTIONS = 12


def synopsis(command: Command) -> str:
    """Return how the command is typed. The name of the default command is optional."""
    name = "[search]" if command.name == "search" else command.name
    forms = {"1": "{}", "?": "[{}]", "+": "{}…", "*": "[{}…]"}
    words = [forms[a.repeat].format(a.name) for a in command.arguments]
    return " ".join(["ccgrep", name, "[OPTION…]", *words])


def sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def exit_status(command: Command) -> list[tuple[int, str]]:
    return sorted([*command.exit_status, (2, "error")])


def long_help(option: Option) -> str:
    return sentence(option.help) + (" Can be repeated." if option.is_repeatable else "")


def help_text(command: Command, width: int = MAX_WIDTH) -> str:
    """Return the text of `ccgrep COMMAND --help`."""
    width = min(width, MAX_WIDTH)
    parts = [f"usage: {synopsis(command)}", *_examples(command, width)]
    parts.append(textwrap.fill(command.description, width))
    if command.actions:
        parts.append("\n".join(["actions:", *_rows(command.actions, width)]))
    if command.arguments:
        parts.append("\n".join(_item(a.name, sentence(a.help), width) for a in command.arguments))
    parts.append(_options(command, width))
    codes = (f"  {code:<4} {meaning}" for code, meaning in exit_status(command))
    parts.append("\n".join(["exit status:", *codes]))
    return "\n\n".join(parts)


def brief(command: Command, width: int = MAX_WIDTH) -> str:
    """Return the text of `ccgrep COMMAND -h`, one screen."""
    width = min(width, MAX_WIDTH)
    is_short = len(command.options) + len(command.actions) <= _MAX_BRIEF_OPTIONS
    listed = [o for o in command.options if is_short or set(o.names) & set(command.common)]
    top = f"usage: {synopsis(command)}\n{_cut(command.summary, width)}"
    parts = [top, *_examples(command, width, is_brief=True)]
    if command.actions:
        parts.append("\n".join(_cut(line, width) for line in _table(command.actions)))
    if listed:
        rows = ((_brief_head(option), option.summary) for option in listed)
        parts.append("\n".join(_cut(line, width) for line in _table(rows)))
    others = [o.names[0] for o in command.options if o not in listed]
    more = f"more options: {' '.join(others)}"
    end = [textwrap.fill(more, width, break_on_hyphens=False)] if others else []
    end.append(f"Run `ccgrep {command.name} --help` for details.")
    return "\n\n".join([*parts, "\n".join(end)])


def overview(width: int = MAX_WIDTH) -> str:
    """Return the text of `ccgrep --help`: how to search, and all commands."""
    width = min(width, MAX_WIDTH)
    search = COMMANDS["search"]
    commands = _rows([(c.name, c.summary) for c in COMMANDS.values()], width)
    return "\n\n".join(
        [
            *_top(width),
            "\n".join(["commands:", *commands]),
            textwrap.fill(search.description, width),
            _options(search, width),
            "Run `ccgrep COMMAND --help` for the options of a command.",
        ]
    )


def brief_overview(width: int = MAX_WIDTH) -> str:
    """Return the text of `ccgrep -h`, one screen."""
    width = min(width, MAX_WIDTH)
    names = textwrap.fill(" ".join(COMMANDS), width, initial_indent="  ", subsequent_indent="  ")
    return "\n\n".join(
        [
            *_top(width),
            f"commands:\n{names}",
            "Run `ccgrep COMMAND -h` for the options of a command, and\n"
            "`ccgrep --help` for everything.",
        ]
    )


def _top(width: int) -> list[str]:
    return [
        "usage: ccgrep [OPTION…] PATTERN…\n       ccgrep COMMAND [OPTION…] [REF…]\n"
        "grep for a developer's history with coding agents",
        *_examples(COMMANDS["search"], width),
    ]


def _options(command: Command, width: int) -> str:
    items = [_item(_head(option), long_help(option), width) for option in (*command.options, HELP)]
    return "\n".join(["options:", *items])


def _head(option: Option) -> str:
    value = f" {option.placeholder}" if option.value else ""
    choices = f" ({', '.join(option.choices)})" if option.choices else ""
    return f"{', '.join(option.names)}{value}{choices}"


def _brief_head(option: Option) -> str:
    """Return a short and a long name, and the placeholder of the value."""
    names = [option.names[0], *(n for n in option.names[1:] if n.startswith("--"))][:2]
    return ", ".join(names) + (f" {option.placeholder}" if option.value else "")


def _item(head: str, text: str, width: int) -> str:
    heads = textwrap.fill(head, width, initial_indent="  ", subsequent_indent="      ")
    return f"{heads}\n{textwrap.indent(textwrap.fill(text, width - 8), ' ' * 8)}"


def _examples(command: Command, width: int, is_brief: bool = False) -> list[str]:
    """Return the examples as one paragraph; `is_brief` drops those that need two lines."""
    lines = []
    for typed, meaning in command.examples:
        line = f"  {typed}    # {meaning}"
        if len(line) <= width:
            lines.append(line)
        elif not is_brief:
            lines += [f"  # {meaning}", f"  {typed}"]
    return ["\n".join(["examples:", *lines])] if lines else []


def _rows(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield the lines of a table, wrapped below the second column."""
    indent = " " * (max(len(title) for title, _ in rows) + 4)
    return (textwrap.fill(row, width, subsequent_indent=indent) for row in _table(rows))


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    rows = list(rows)
    left = max(len(title) for title, _ in rows)
    return (f"  {title:<{left}}  {text}" for title, text in rows)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"
