# ccgrep's keys for fish: Ctrl-G inserts the REF of a turn that you pick, Alt-G a command that an
# agent ran. The keys only insert text: nothing runs until you press Enter.

function ccgrep_insert_ref -d 'Insert the REF of a turn'
    set -l ref (ccgrep pick | string match -r '^[^:]+:[0-9]+')
    commandline -i -- "$ref"
    commandline -f repaint
end

function ccgrep_insert_command -d 'Insert a command that an agent ran'
    set -l command (ccgrep pick --commands)
    commandline -i -- "$command"
    commandline -f repaint
end

if status is-interactive
    for mode in default insert
        bind -M $mode \cg ccgrep_insert_ref
        bind -M $mode \eg ccgrep_insert_command
    end
end
