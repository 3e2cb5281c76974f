"""Generate the zsh completions from the flag table: one `_arguments` call per command.

zsh loads the script from the fpath as `_ccgrep`, or sources it after compinit.
"""

from __future__ import annotations

from ccgrep.cli.flags import COMMANDS, HELP
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccgrep.cli.flags import Argument, Command, Option

_HEAD = """\
#compdef ccgrep
# ccgrep completions for zsh, generated from src/ccgrep/cli/flags.py by scripts/generate.

# Offer values that only ccgrep knows. zsh quotes what it inserts.
_ccgrep_live() {
    local line value
    local -a candidates
    for line in "${(@f)$(ccgrep __complete $1 "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        value=${line%%$'\\t'*}
        candidates+=("${value//:/\\\\:}:${line#*$'\\t'}")
    done
    _describe -V -t ccgrep-$1 $1 candidates
}

_ccgrep() {
    local command=search
    local -a commands
"""

_TAIL = """\
}

if [[ ${funcstack[1]} == _ccgrep ]]; then
    _ccgrep "$@"
elif (( $+functions[compdef] )); then
    compdef _ccgrep ccgrep
fi
"""
_ACTIONS = {"": " ", "file": "_files", "dir": "_files -/"}


def script() -> str:
    lines = [
        "    commands=(",
        *(f"        {_quote(f'{c.name}:{_escape_colons(c.summary)}')}" for c in COMMANDS.values()),
        "    )",
        "    if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then",
        "        _describe -V command commands",
        "        return",
        "    fi",
        "    case $words[2] in",
        f"        ({'|'.join(COMMANDS)}) command=$words[2]; shift words; (( CURRENT-- )) ;;",
        "    esac",
        "    case $command in",
        *(line for command in COMMANDS.values() for line in _case(command)),
        "    esac",
    ]
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _case(command: Command) -> Iterator[str]:
    specs = [spec for option in (*command.options, HELP) for spec in _option(option)]
    specs += [_argument(argument) for argument in command.arguments]
    yield f"        ({command.name})"
    yield "            _arguments -s -S \\"
    for position, spec in enumerate(specs):
        end = " \\" if position < len(specs) - 1 else ""
        yield f"                {_quote(spec)}{end}"
    yield "            ;;"


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
