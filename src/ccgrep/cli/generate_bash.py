"""The completions of bash, from the flag table; for bash 3.2 and later, on its own.

Commands, options and values that the table knows stand in the script; only live values start
ccgrep. What it answers was said by others: it is quoted before it reaches the command line.
"""

from __future__ import annotations

import shlex

from ccgrep.cli.flags import COMMANDS, HELP
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
# ccgrep completions for bash, made from src/ccgrep/cli/flags.py by scripts/generate.

# Each function sets `found`, lines of a value, a tab and what it is, and `kind`, what else is
# asked for: live values of that name, or files.
"""

_BODY = r"""
_ccgrep_live() {
    local line
    while IFS= read -r line; do
        found+=("$line")
    done < <(ccgrep __complete "$1" "$2" 2>/dev/null)
}

_ccgrep() {
    local line=${COMP_LINE:0:COMP_POINT} command=search kind= head= cur= prev= prefix= char part
    local -a words found=()
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] || { cur=${words[${#words[@]}-1]}; unset "words[${#words[@]}-1]"; }
    prev=${words[${#words[@]}-1]}
    COMPREPLY=()
    if ((${#words[@]} == 1)) && [[ $cur != -* ]]; then
        _ccgrep_commands
    else
        _ccgrep_is_command "${words[1]}" && command=${words[1]}
        if [[ $cur == --*=* ]]; then
            prefix=${cur%%=*}=
            _ccgrep_values "$command:${cur%%=*}" || return 0
        elif ! _ccgrep_values "$command:$prev"; then
            if [[ $cur == -?* ]]; then
                _ccgrep_options "$command"
            else
                _ccgrep_arguments "$command"
            fi
        fi
    fi
    case $kind in
        '') ;;
        file | dir) _ccgrep_paths "${cur#"$prefix"}"; return 0 ;;
        *) _ccgrep_live "$kind" "${cur#"$prefix"}" ;;
    esac
    # Readline replaces only what stands behind the last of its word breaks.
    for char in : = @; do
        if [[ $COMP_WORDBREAKS == *"$char"* && $cur == *"$char"* ]]; then
            part=${cur%"$char"*}$char
            ((${#part} > ${#head})) && head=$part
        fi
    done
    _ccgrep_reply
}

_ccgrep_paths() {
    local path flag=-f
    [[ $kind == dir ]] && flag=-d
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        COMPREPLY+=("$path")
    done < <(compgen "$flag" -- "$1")
}

# What begins like the word, quoted; several are shown with what they are, which readline never
# inserts: it inserts what they have in common.
_ccgrep_reply() {
    local line value text quoted width=0
    local -a values=() texts=()
    for line in "${found[@]}"; do
        value=$prefix${line%%$'\t'*}
        [[ $value == "$cur"* ]] || continue
        printf -v quoted %q "${value#"$head"}"
        values+=("$quoted")
        text=
        [[ $line == *$'\t'* ]] && text=${line#*$'\t'}
        texts+=("$text")
        ((${#quoted} > width)) && width=${#quoted}
    done
    local i
    for ((i = 0; i < ${#values[@]}; i++)); do
        value=${values[i]}
        if ((${#values[@]} > 1 && COMP_TYPE != 37 && COMP_TYPE != 42)) && [[ ${texts[i]} ]]; then
            printf -v value '%-*s  %s' "$width" "$value" "${texts[i]}"
            value=${value:0:${COLUMNS:-80}-2}
        fi
        COMPREPLY+=("$value")
    done
}

complete -o nosort -F _ccgrep ccgrep 2>/dev/null || complete -F _ccgrep ccgrep
"""


def script() -> str:
    names = " | ".join(COMMANDS)
    commands = [f"{c.name}\t{c.summary}" for c in COMMANDS.values()]
    lines = [
        _HEAD,
        "_ccgrep_is_command() {",
        '    case "$1" in',
        f"        {names}) return 0 ;;",
        "    esac",
        "    return 1",
        "}",
        "",
        "_ccgrep_commands() {",
        *_found(commands, "    "),
        "}",
        "",
        *_function("options", _options()),
        *_function("values", _values(), otherwise="return 1"),
        *_function("arguments", _arguments()),
    ]
    return "\n".join(lines).rstrip() + "\n" + _BODY


def _function(name: str, cases: Iterator[tuple[str, list[str]]], otherwise: str = "") -> list[str]:
    """A function that chooses by its argument."""
    lines = [f"_ccgrep_{name}() {{", '    case "$1" in']
    for pattern, body in cases:
        lines += [f"        {pattern})", *body, "            ;;"]
    if otherwise:
        lines.append(f"        *) {otherwise} ;;")
    return [*lines, "    esac", "}", ""]


def _options() -> Iterator[tuple[str, list[str]]]:
    for command in COMMANDS.values():
        told = [f"{name}\t{o.help}" for o in (*command.options, HELP) for name in o.names]
        yield command.name, _found(told, " " * 12)


def _values() -> Iterator[tuple[str, list[str]]]:
    """What follows COMMAND:OPTION, if it takes a value; of a number nothing is known."""
    places: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for command in COMMANDS.values():
        for option in command.options:
            if option.kind != "flag":
                taken = places.setdefault((option.choices, option.live), [])
                taken += [f"{command.name}:{name}" for name in option.names]
    for (choices, live), names in places.items():
        yield " | ".join(names), _taken(choices, live)


def _arguments() -> Iterator[tuple[str, list[str]]]:
    for command in COMMANDS.values():
        for argument in command.arguments:
            if argument.choices or argument.live:
                yield command.name, _taken(argument.choices, argument.live)


def _taken(choices: tuple[str, ...], live: str) -> list[str]:
    if choices:
        return _found(list(choices), " " * 12)
    return [f"            kind={live}"]


def _found(lines: list[str], indent: str) -> list[str]:
    quoted = [f"{indent}    {_quoted(line)}" for line in lines]
    return [f"{indent}found=(", *quoted, f"{indent})"]


def _quoted(line: str) -> str:
    """A tab is written so that it can be seen, and survives an editor."""
    value, tab, text = line.partition("\t")
    return shlex.quote(value) + ("$'\\t'" + shlex.quote(text) if tab else "")
