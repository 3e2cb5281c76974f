"""Generate the man pages, in man(7) markup, from the flag table and the table of settings."""

import re
from collections.abc import Iterable, Iterator

from ccgrep import __version__
from ccgrep.cli.flags import COMMANDS, HELP, Command, Option
from ccgrep.cli.help import exit_status, long_help, sentence, synopsis
from ccgrep.settings import KEYS, Key

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
    (
        "~/.claude/projects, ~/.codex/sessions",
        "Transcripts. Only restore, resume and prune change anything there. `ccgrep sources` "
        "prints the directories of other agents.",
    ),
    ("~/.local/share/ccgrep", "The store, or $XDG_DATA_HOME/ccgrep."),
    ("~/.config/ccgrep/config.toml", "The configuration file, or below $XDG_CONFIG_HOME."),
)


def main_page() -> str:
    """Return ccgrep(1): how to search, and all commands."""
    search = COMMANDS["search"]
    commands = ((f"\\fBccgrep\\-{_text(c.name)}\\fR(1)", c.summary) for c in COMMANDS.values())
    return _page(
        "ccgrep",
        "grep for a developer's history with coding agents",
        ["ccgrep [OPTION…] PATTERN…", "ccgrep COMMAND [OPTION…] [REF…]"],
        [_prose(search.description), ".SS Commands", *_items(commands)],
        search,
        KEYS.values(),
        [*(f"ccgrep-{name}" for name in COMMANDS), *_OTHERS["search"]],
    )


def command_page(command: Command) -> str:
    """Return ccgrep-COMMAND(1)."""
    names = {name for option in command.options for name in option.names}
    keys = [key for key in KEYS.values() if key.flag in names or key.name in _COMMON_KEYS]
    actions = ((f"\\fB{_code(typed)}\\fR", sentence(what)) for typed, what in command.actions)
    arguments = ((f"\\fI{_text(a.name)}\\fR", sentence(a.help)) for a in command.arguments)
    return _page(
        f"ccgrep-{command.name}",
        command.summary,
        [synopsis(command)],
        [_prose(command.description), *_items(actions), *_items(arguments)],
        command,
        keys,
        ["ccgrep", *_OTHERS.get(command.name, ())],
    )


def _page(
    name: str,
    summary: str,
    synopses: list[str],
    description: list[str],
    command: Command,
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
        *_items((_head(option), long_help(option)) for option in (*command.options, HELP)),
        ".SH EXAMPLES",
        "\n.PP\n".join(_example(typed, what) for typed, what in command.examples),
        ".SH EXIT STATUS",
        *_items((str(code), what) for code, what in exit_status(command)),
        ".SH ENVIRONMENT",
        *_items((_variables(*key.environment), sentence(key.help)) for key in keys),
        *_items((_variables(name), what) for name, what in _VARIABLES),
        ".SH FILES",
        *_items((f"\\fI{_text(path)}\\fR", what) for path, what in _FILES),
        ".SH SEE ALSO",
        ",\n".join(f"\\fB{_text(other)}\\fR(1)" for other in others),
    ]
    return "\n".join(lines) + "\n"


def _items(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a paragraph with an escaped head for each row."""
    for head, text in rows:
        yield from (".TP", head, _prose(text))


def _variables(*names: str) -> str:
    return ", ".join(f"\\fB{_text(name)}\\fR" for name in names)


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
