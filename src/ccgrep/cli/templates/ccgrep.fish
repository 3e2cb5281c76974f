# ccgrep completions for fish, generated from src/ccgrep/cli/flags.py by scripts/generate.

function __ccgrep_is -d 'Test whether the command line runs this command'
    set -l words (commandline -opc)
    set -l command search
    if set -q words[2]; and contains -- $words[2] @names@
        set command $words[2]
    end
    test $command = $argv[1]
end

function __ccgrep_is_first -d 'Test whether the cursor is on the first word'
    test (count (commandline -opc)) -eq 1
end

function __ccgrep_live -d 'Print values that only ccgrep knows'
    set -l word (commandline -ct | string replace -r '^--[^=]*=' '')
    ccgrep __complete $argv[1] "$word" 2>/dev/null
end

complete -c ccgrep -f
@commands@
@options@
