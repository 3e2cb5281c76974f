"""Generate the man pages, in man(7) markup, from the flag table and the table of settings."""

from __future__ import annotations

import re

from ccgrep import __version__
from ccgrep.cli.flags import COMMANDS, HELP, Command, Option
from ccgrep.cli.help import exit_status, long_help, sentence, synopsis
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.settings import KEYS, Key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DATE = "November 16, 2026"
_OTHERS = {"search": ("grep", "fzf", "jq"), "pick": ("fzf",), "show": ("less",), "blame": ("git",)}
_COMMON_KEYS = ("store",)
"""Settings that every command uses."""
_VARIABLES = (
    ("CLAUDE_CONFIG_DIR", "The directory of Claude Code, instead of ~/.claude."),
    ("CODEX_HOME", "The directory of Codex, instead of ~/.codex."),
    ("CCGREP_CONFIG", "The configuration file."),
)
_FILES = (
    ("~/.claude/projects, ~/.codex/sessions", "The transcripts. ccgrep never writes to them."),
    ("~/.local/share/ccgrep", "The store, or $XDG_DATA_HOME/ccgrep."),
    ("~/.config/ccgrep/config.toml", "The configuration file, or below $XDG_CONFIG_HOME."),
)


def main_page() -> str:
    """Return ccgrep(1): how to search, and all commands."""
    search = COMMANDS["search"]
    commands = [
        line
        for c in COMMANDS.values()
        for line in (".TP", f"\\fBccgrep\\-{_text(c.name)}\\fR(1)", _text(c.summary))
    ]
    return _page(
        "ccgrep",
        "grep for a developer's history with coding agents",
        ["ccgrep [OPTION…] PATTERN…", "ccgrep COMMAND [OPTION…] [REF…]"],
        [_prose(search.description), ".SS Commands", *commands],
        search,
        (*search.options, HELP),
        KEYS.values(),
        [*(f"ccgrep-{name}" for name in COMMANDS), *_OTHERS["search"]],
    )


def command_page(command: Command) -> str:
    """Return ccgrep-COMMAND(1)."""
    names = {name for option in command.options for name in option.names}
    keys = [key for key in KEYS.values() if key.flag in names or key.name in _COMMON_KEYS]
    arguments = [
        line
        for a in command.arguments
        for line in (".TP", f"\\fI{_text(a.name)}\\fR", _prose(sentence(a.help)))
    ]
    return _page(
        f"ccgrep-{command.name}",
        command.summary,
        [synopsis(command)],
        [_prose(command.description), *arguments],
        command,
        (*command.options, HELP),
        keys,
        ["ccgrep", *_OTHERS.get(command.name, ())],
    )


def _page(
    name: str,
    summary: str,
    synopses: list[str],
    description: list[str],
    command: Command,
    options: Iterable[Option],
    keys: Iterable[Key],
    others: list[str],
) -> str:
    lines = [
        '.\\" Generated from src/ccgrep/cli/flags.py by scripts/generate: do not edit.',
        f'.TH {name.upper()} 1 "{_DATE}" "ccgrep {__version__}" "User Commands"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
        *_block(synopses),
        ".SH DESCRIPTION",
        *description,
        ".SH OPTIONS",
        *(line for option in options for line in (".TP", _head(option), _prose(long_help(option)))),
        ".SH EXAMPLES",
        "\n.PP\n".join(_example(typed, what) for typed, what in command.examples),
        ".SH EXIT STATUS",
        *(line for code, what in exit_status(command) for line in (".TP", str(code), _text(what))),
        ".SH ENVIRONMENT",
        *_environment(keys),
        ".SH FILES",
        *(line for path, what in _FILES for line in (".TP", f"\\fI{_text(path)}\\fR", _text(what))),
        ".SH SEE ALSO",
        ",\n".join(f"\\fB{_text(other)}\\fR(1)" for other in others),
    ]
    return "\n".join(lines) + "\n"


def _environment(keys: Iterable[Key]) -> Iterator[str]:
    for key in keys:
        yield from (".TP", ", ".join(f"\\fB{_text(name)}\\fR" for name in key.environment))
        yield _prose(sentence(key.help))
    for name, what in _VARIABLES:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(what))


def _example(typed: str, what: str) -> str:
    return "\n".join((_text(what[0].upper() + what[1:]), ".PP", ".RS 4", *_block([typed]), ".RE"))


def _block(lines: list[str]) -> Iterator[str]:
    """Yield the lines in a no-fill block, which man does not wrap."""
    yield from (".nf", *(_code(line) for line in lines), ".fi")


def _head(option: Option) -> str:
    names = ", ".join(f"\\fB{_code(name)}\\fR" for name in option.names)
    value = f" \\fI{_text(option.placeholder)}\\fR" if option.value else ""
    choices = f" ({_text(', '.join(option.choices))})" if option.choices else ""
    return names + value + choices


def _prose(text: str) -> str:
    """Return text for man, with `code` in bold."""
    parts = text.split("`")
    return "".join(_text(p) if i % 2 == 0 else f"\\fB{_code(p)}\\fR" for i, p in enumerate(parts))


def _text(text: str) -> str:
    """Escape prose. Only the dashes of options become minus signs."""
    return re.sub(r"(?<![\w-])-+(?=[\w-])", lambda m: "\\-" * len(m[0]), _plain(text))


def _code(text: str) -> str:
    """Escape text that the user types. Every dash becomes a minus sign."""
    return _plain(text).replace("-", "\\-")


def _plain(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("…", "...")
    escaped = escaped.replace("'", "\\(aq").replace("`", "\\(ga").replace('"', "\\(dq")
    escaped = re.sub(r"[^\x00-\x7f]", lambda m: f"\\[u{ord(m[0]):04X}]", escaped)
    return re.sub(r"^(?=\.)", "\\\\&", escaped)
