# ccgrep's keys for zsh: Ctrl-G inserts the REF of a turn that you pick, Alt-G a command that an
# agent ran. The keys only insert text: nothing runs until you press Enter.

ccgrep-insert-ref() {
    local record
    record=$(ccgrep pick </dev/tty)
    [[ $record =~ '^[^:]+:[0-9]+' ]] && LBUFFER+=$MATCH
    zle reset-prompt
}

ccgrep-insert-command() {
    LBUFFER+=$(ccgrep pick --commands </dev/tty)
    zle reset-prompt
}

if [[ -o interactive ]]; then
    zle -N ccgrep-insert-ref
    zle -N ccgrep-insert-command
    bindkey '^G' ccgrep-insert-ref
    bindkey '\eg' ccgrep-insert-command
fi
