# ccgrep's keys for bash: Ctrl-G inserts the REF of a turn that you pick, Alt-G a command that an
# agent ran. The keys only insert text: nothing runs until you press Enter.

_ccgrep_insert() {
    READLINE_LINE=${READLINE_LINE:0:READLINE_POINT}$1${READLINE_LINE:READLINE_POINT}
    READLINE_POINT=$((READLINE_POINT + ${#1}))
}

_ccgrep_insert_ref() {
    local record
    record=$(ccgrep pick) || return 0
    [[ $record =~ ^([^:]+:[0-9]+): ]] && _ccgrep_insert "${BASH_REMATCH[1]}"
}

_ccgrep_insert_command() {
    local command
    command=$(ccgrep pick --commands) || return 0
    _ccgrep_insert "$command"
}

if [[ $- == *i* ]]; then
    bind -x '"\C-g": _ccgrep_insert_ref'
    bind -x '"\eg": _ccgrep_insert_command'
fi
