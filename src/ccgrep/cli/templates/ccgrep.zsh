#compdef ccgrep
# ccgrep completions for zsh, generated from src/ccgrep/cli/flags.py by scripts/generate.

# Offer values that only ccgrep knows. zsh quotes what it inserts.
_ccgrep_live() {
    local line value
    local -a candidates
    for line in "${(@f)$(ccgrep __complete $1 "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        value=${line%%$'\t'*}
        candidates+=("${value//:/\\:}:${line#*$'\t'}")
    done
    _describe -V -t ccgrep-$1 $1 candidates
}

_ccgrep() {
    local command=search
    local -a commands
    commands=(
@commands@
    )
    if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
        _describe -V command commands
        return
    fi
    case $words[2] in
        (@names@) command=$words[2]; shift words; (( CURRENT-- )) ;;
    esac
    case $command in
@options@
    esac
}

if [[ ${funcstack[1]} == _ccgrep ]]; then
    _ccgrep "$@"
elif (( $+functions[compdef] )); then
    compdef _ccgrep ccgrep
fi
