"""The completions of zsh, from the flag table: one list of specifications a command.

It can be found on the fpath as `_ccgrep`, or be sourced after compinit.
"""

from __future__ import annotations

from ccgrep.cli.flags import COMMANDS, HELP
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccgrep.cli.flags import Argument, Command, Option

_HEAD = """\
#compdef ccgrep
# ccgrep completions for zsh, made from src/ccgrep/cli/flags.py by scripts/generate.

# Values that only ccgrep knows; zsh quotes what it inserts.
_ccgrep_live() {
    local line value
    local -a found
    for line in "${(@f)$(ccgrep __complete $1 "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        value=${line%%$'\\t'*}
        found+=("${value//:/\\\\:}:${line#*$'\\t'}")
    done
    _describe -V -t ccgrep-$1 $1 found
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
        *(f"        {_quoted(f'{c.name}:{_colons(c.summary)}')}" for c in COMMANDS.values()),
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
        yield f"                {_quoted(spec)}{end}"
    yield "            ;;"


def _option(option: Option) -> Iterator[str]:
    others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    repeat = "*" if option.kind == "list" else others
    for name in option.names:
        if option.kind == "flag":
            yield f"{repeat}{name}[{_bracketed(option.help)}]"
        else:
            joined = "=" if name.startswith("--") else "+"
            taken = f":{option.metavar}:{_action(option)}"
            yield f"{repeat}{name}{joined}[{_bracketed(option.help)}]{taken}"


def _argument(argument: Argument) -> str:
    place = "1" if argument.repeat == "1" else "*"
    # A message, as for an option's value, would keep zsh from inserting the option that is meant.
    is_known = argument.choices or argument.live
    return f"{place}:{argument.name}:{_action(argument) if is_known else '{ false }'}"


def _action(taken: Option | Argument) -> str:
    if taken.choices:
        return f"({' '.join(taken.choices)})"
    return _ACTIONS.get(taken.live) or f"{{ _ccgrep_live {taken.live} }}"


def _bracketed(text: str) -> str:
    return _colons(text).replace("[", "\\[").replace("]", "\\]")


def _colons(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
