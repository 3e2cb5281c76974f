"""What `-h` and `--help` print, from the flag table: examples first, no wider than the terminal.

Imported only when somebody asks.
"""

from __future__ import annotations

import textwrap

from ccgrep.cli.flags import COMMANDS, HELP, Command, Option
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WIDEST = 80
_SCREEN_ITEMS = 12


def usage(command: Command) -> str:
    return f"usage: {synopsis(command)}"


def synopsis(command: Command) -> str:
    """How a command is written; the name of the default one may be left out."""
    name = "[search]" if command.name == "search" else command.name
    shown = {"1": "{}", "?": "[{}]", "+": "{}…", "*": "[{}…]"}
    words = [shown[a.repeat].format(a.name) for a in command.arguments]
    return " ".join(["ccgrep", name, "[OPTION…]", *words])


def head(option: Option) -> str:
    """An option's names and what it takes."""
    value = f" {option.metavar}" if option.metavar else ""
    choices = f" ({', '.join(option.choices)})" if option.choices else ""
    return f"{', '.join(option.names)}{value}{choices}"


def help_text(command: Command, width: int = WIDEST) -> str:
    """What `ccgrep COMMAND --help` prints: everything."""
    width = min(width, WIDEST)
    parts = [usage(command), *_examples(command, width), textwrap.fill(command.description, width)]
    if command.arguments:
        parts.append("\n".join(_item(a.name, a.help, width) for a in command.arguments))
    parts.append(_options(command, width))
    codes = (f"  {code:<4} {meaning}" for code, meaning in command.exit_status)
    parts.append("\n".join(["exit status:", *codes]))
    return "\n\n".join(parts)


def brief(command: Command, width: int = WIDEST) -> str:
    """What `ccgrep COMMAND -h` prints: one screen."""
    width = min(width, WIDEST)
    is_short = len(command.options) <= _SCREEN_ITEMS
    told = [o for o in command.options if is_short or set(o.names) & set(command.common)]
    top = f"{usage(command)}\n{_cut(command.summary, width)}"
    parts = [top, *_examples(command, width, is_cut=True)]
    if told:
        parts.append("\n".join(_table(((_short_head(o), o.help) for o in told), width)))
    left = [o.names[0] for o in command.options if o not in told]
    more = [textwrap.fill(f"also: {' '.join(left)}", width, break_on_hyphens=False)] if left else []
    more.append(f"`ccgrep {command.name} --help` tells all.")
    return "\n\n".join([*parts, "\n".join(more)])


def overview(width: int = WIDEST) -> str:
    """What `ccgrep --help` prints: how to search, and all commands."""
    width = min(width, WIDEST)
    search = COMMANDS["search"]
    commands = _table(((c.name, c.summary) for c in COMMANDS.values()), width, is_cut=False)
    return "\n\n".join(
        [
            *_top(width),
            "\n".join(["commands:", *commands]),
            textwrap.fill(search.description, width),
            _options(search, width),
            "`ccgrep COMMAND --help` tells more about each.",
        ]
    )


def brief_overview(width: int = WIDEST) -> str:
    """What `ccgrep -h` prints: one screen."""
    width = min(width, WIDEST)
    names = textwrap.fill(" ".join(COMMANDS), width, initial_indent="  ", subsequent_indent="  ")
    return "\n\n".join(
        [
            *_top(width),
            f"commands:\n{names}",
            "`ccgrep COMMAND -h` tells more, `ccgrep search -h` about\n"
            "searching, `ccgrep --help` everything.",
        ]
    )


def _top(width: int) -> list[str]:
    return [
        "usage: ccgrep [OPTION…] PATTERN…\n       ccgrep COMMAND [OPTION…] [REF…]\n"
        "grep for a developer's history with coding agents",
        *_examples(COMMANDS["search"], width),
    ]


def _options(command: Command, width: int) -> str:
    items = [_item(head(option), option.help, width) for option in (*command.options, HELP)]
    return "\n".join(["options:", *items])


def _item(title: str, text: str, width: int) -> str:
    heads = textwrap.fill(title, width, initial_indent="  ", subsequent_indent="      ")
    indent = " " * 8
    return f"{heads}\n{textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)}"


def _examples(command: Command, width: int, is_cut: bool = False) -> list[str]:
    """The examples, each with what it is for; `is_cut` leaves out those that need two lines."""
    lines = []
    for typed, meaning in command.examples:
        line = f"  {typed}    # {meaning}"
        if len(line) <= width:
            lines.append(line)
        elif not is_cut:
            lines += [f"  # {meaning}", f"  {typed}"]
    return ["\n".join(["examples:", *lines])] if lines else []


def _short_head(option: Option) -> str:
    """The name that is typed, and the one that is read."""
    names = [option.names[0], *(n for n in option.names[1:] if n.startswith("--"))][:2]
    return ", ".join(names) + (f" {option.metavar}" if option.metavar else "")


def _table(rows: Iterable[tuple[str, str]], width: int, is_cut: bool = True) -> Iterator[str]:
    """Two columns; what does not fit into the second is cut, or goes on below."""
    rows = list(rows)
    left = max(len(title) for title, _ in rows)
    for title, text in rows:
        line = f"  {title:<{left}}  {text}"
        yield (
            _cut(line, width)
            if is_cut
            else textwrap.fill(line, width, subsequent_indent=" " * (left + 4))
        )


def _cut(line: str, width: int) -> str:
    """One line: its first clause if all of it is too long, else its beginning."""
    if len(line) > width:
        line = line.partition(";")[0]
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"
