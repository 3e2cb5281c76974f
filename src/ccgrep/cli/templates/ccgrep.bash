# ccgrep completions for bash, generated from src/ccgrep/cli/flags.py by scripts/generate.

# Each function sets `candidates`, lines of a value, a tab and a description, or `kind`, the kind
# of live values or paths to complete.

_ccgrep_is_command() {
    case "$1" in
        @names@) return 0 ;;
    esac
    return 1
}

_ccgrep_commands() {
@commands@
}

_ccgrep_options() {
    case "$1" in
@options@
    esac
}

_ccgrep_values() {
    case "$1" in
@values@
        *) return 1 ;;
    esac
}

_ccgrep_arguments() {
    case "$1" in
@arguments@
    esac
}

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
