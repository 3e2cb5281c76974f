"""Generate the bash completions from the flag table, for bash 3.2 and later.

The script contains all commands, options and choices of the table. It runs ccgrep only for live
values such as session ids. These come from transcripts, so the script quotes them before they
reach the command line.
"""

from __future__ import annotations

import shlex

from ccgrep.cli.flags import COMMANDS, HELP
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
# ccgrep completions for bash, generated from src/ccgrep/cli/flags.py by scripts/generate.

# Each function sets `candidates`, lines of a value, a tab and a description, or `kind`, the kind
# of live values or paths to complete.
"""

_BODY = r"""
_ccgrep_live() {
    local line
    while IFS= read -r line; do
        candidates+=("$line")
    done < <(ccgrep __complete "$1" "$2" 2>/dev/null)
}

_ccgrep() {
    local line=${COMP_LINE:0:COMP_POINT} command=search kind= head= cur= prev= prefix= char part
    local -a words candidates=()
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
    # Readline replaces only the text after the last word break.
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

# Reply with the candidates that match, quoted. Several candidates get their description: readline
# shows it but inserts only the common prefix.
_ccgrep_reply() {
    local line value text quoted width=0
    local -a values=() texts=()
    for line in "${candidates[@]}"; do
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
        *_assign(commands, "    "),
        "}",
        "",
        *_function("options", _options()),
        *_function("values", _values(), otherwise="return 1"),
        *_function("arguments", _arguments()),
    ]
    return "\n".join(lines).rstrip() + "\n" + _BODY


def _function(name: str, cases: Iterator[tuple[str, list[str]]], otherwise: str = "") -> list[str]:
    """Return the lines of a shell function that switches on its argument."""
    lines = [f"_ccgrep_{name}() {{", '    case "$1" in']
    for pattern, body in cases:
        lines += [f"        {pattern})", *body, "            ;;"]
    if otherwise:
        lines.append(f"        *) {otherwise} ;;")
    return [*lines, "    esac", "}", ""]


def _options() -> Iterator[tuple[str, list[str]]]:
    for command in COMMANDS.values():
        options = [f"{name}\t{o.summary}" for o in (*command.options, HELP) for name in o.names]
        yield command.name, _assign(options, " " * 12)


def _values() -> Iterator[tuple[str, list[str]]]:
    """Yield a case for each kind of value. Its patterns are COMMAND:OPTION."""
    patterns: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for command in COMMANDS.values():
        for option in command.options:
            if option.value:
                names = patterns.setdefault((option.choices, option.completion), [])
                names += [f"{command.name}:{name}" for name in option.names]
    for (choices, completion), names in patterns.items():
        yield " | ".join(names), _complete(choices, completion)


def _arguments() -> Iterator[tuple[str, list[str]]]:
    for command in COMMANDS.values():
        for argument in command.arguments:
            if argument.choices or argument.completion:
                yield command.name, _complete(argument.choices, argument.completion)


def _complete(choices: tuple[str, ...], completion: str) -> list[str]:
    if choices:
        return _assign(list(choices), " " * 12)
    return [f"            kind={completion}"]


def _assign(candidates: list[str], indent: str) -> list[str]:
    quoted = [f"{indent}    {_quote(line)}" for line in candidates]
    return [f"{indent}candidates=(", *quoted, f"{indent})"]


def _quote(line: str) -> str:
    """Quote a line for the shell, with a visible tab that survives an editor."""
    value, tab, text = line.partition("\t")
    return shlex.quote(value) + ("$'\\t'" + shlex.quote(text) if tab else "")
