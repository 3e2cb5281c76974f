# ccgrep completions for bash, made from src/ccgrep/cli/flags.py by scripts/generate.

# Each function sets `found`, lines of a value, a tab and what it is, and `kind`, what else is
# asked for: live values of that name, or files.

_ccgrep_is_command() {
    case "$1" in
        search | pick | index | status | list | show | export | blame | stats | resume | mcp | model | settings | setup | completions | fsck | gc | forget) return 0 ;;
    esac
    return 1
}

_ccgrep_commands() {
    found=(
        search$'\t''the turns that match (the default command)'
        pick$'\t''search as you type, in fzf'
        index$'\t''take in what changed'
        status$'\t''what is indexed, how far behind, how large'
        list$'\t''sessions, most recent first'
        show$'\t''a turn or a session as conversation'
        export$'\t''conversations as Markdown, an HTML page or JSON'
        blame$'\t''the turns that read or changed a file'
        stats$'\t''what was used, how often; permissions to allow'
        resume$'\t''the command that resumes a session'
        mcp$'\t''MCP server on standard input and output'
        model$'\t''which embedding model is used'
        settings$'\t''what is set, and where'
        setup$'\t''install ccgrep into an agent or a shell, or take it away'
        completions$'\t''print the completions of a shell'
        fsck$'\t''verify every object, pack and manifest'
        gc$'\t''fold packs and drop what nothing refers to'
        forget$'\t''remove a session for good'
    )
}

_ccgrep_options() {
    case "$1" in
        search)
            found=(
                -e$'\t''a pattern; several are alternatives'
                --regexp$'\t''a pattern; several are alternatives'
                -F$'\t''the text exactly as it stands'
                --fixed-strings$'\t''the text exactly as it stands'
                -E$'\t''a regular expression (RE2)'
                --extended-regexp$'\t''a regular expression (RE2)'
                -i$'\t''with -F and -E: without regard to case'
                --ignore-case$'\t''with -F and -E: without regard to case'
                -w$'\t''with -F and -E: whole words only'
                --word-regexp$'\t''with -F and -E: whole words only'
                --semantic$'\t''rank by meaning'
                --hybrid$'\t''rank by words and meaning together'
                --surface$'\t''by meaning: compare only what was asked, the last answer, or all answers (which are embedded only if `surfaces` is set to it); may be repeated'
                --alpha$'\t''the weight of meaning in --hybrid, from 0 to 1 (0.5)'
                --model$'\t''the embedding model, by name or directory'
                -v$'\t''turns that do not match; means -F unless -E is given'
                --invert-match$'\t''turns that do not match; means -F unless -E is given'
                -t$'\t''only this kind of text; may be repeated'
                --type$'\t''only this kind of text; may be repeated'
                -p$'\t''part of the project'"'"'s path'
                --project$'\t''part of the project'"'"'s path'
                --here$'\t''only this directory'"'"'s project'
                -s$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --since$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --until$'\t''turns begun at or before this time'
                --tool$'\t''turns that used this tool; any: some tool'
                --source$'\t''only this agent'"'"'s sessions'
                --session$'\t''only this session; may be repeated; - reads REFs from standard input'
                --branch$'\t''turns on this git branch'
                --model-name$'\t''part of the name of the model that answered'
                --subagents$'\t''include them (the default; a search ranks them below), only them, or exclude them'
                --max-sessions$'\t''only the N most recent sessions'
                -n$'\t''at most N hits; 0 is all; 10 for words, all for -F and -E'
                --limit$'\t''at most N hits; 0 is all; 10 for words, all for -F and -E'
                -m$'\t''at most N hits; 0 is all; 10 for words, all for -F and -E'
                --max-count$'\t''at most N hits; 0 is all; 10 for words, all for -F and -E'
                --per-session$'\t''at most N hits of one session'
                --include-self$'\t''inside an agent: also the session that asks, and what ccgrep printed in others'
                -A$'\t''N turns after the one that is meant'
                --after-context$'\t''N turns after the one that is meant'
                -B$'\t''N turns before the one that is meant'
                --before-context$'\t''N turns before the one that is meant'
                -C$'\t''N turns on either side'
                --context$'\t''N turns on either side'
                -l$'\t''only session ids'
                --files-with-matches$'\t''only session ids'
                --sessions-with-matches$'\t''only session ids'
                -L$'\t''only ids of sessions that have no hit'
                --files-without-match$'\t''only ids of sessions that have no hit'
                --sessions-without-match$'\t''only ids of sessions that have no hit'
                -c$'\t''SESSION:COUNT for each session that has a hit'
                --count$'\t''SESSION:COUNT for each session that has a hit'
                -o$'\t''each match alone; means -F unless -E is given'
                --only-matching$'\t''each match alone; means -F unless -E is given'
                -q$'\t''print nothing; the exit status tells'
                --quiet$'\t''print nothing; the exit status tells'
                --silent$'\t''print nothing; the exit status tells'
                -0$'\t''end each record with NUL instead of a newline'
                --null$'\t''end each record with NUL instead of a newline'
                --color$'\t''colours: auto on a terminal (the default), always, never'
                --colour$'\t''colours: auto on a terminal (the default), always, never'
                --full-id$'\t''whole session ids'
                --width$'\t''columns of a snippet (200)'
                --budget$'\t''print at most N characters, and say on standard error what was left out'
                --json$'\t''print one JSON object, with a schema version'
                --jsonl$'\t''print one JSON object a hit'
                --explain$'\t''say on standard error what each score is made of'
                --no-refresh$'\t''go by what is indexed, without looking for changes'
                --no-index$'\t''read every turn instead of using the index: slow, the same answer'
                --timeout$'\t''give up -F and -E after so many seconds (5); 0 never'
                -V$'\t''print the version'
                --version$'\t''print the version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        pick)
            found=(
                --commands$'\t''choose among the shell commands that agents ran, and print one'
                --semantic$'\t''rank by meaning'
                -t$'\t''only this kind of text; may be repeated'
                --type$'\t''only this kind of text; may be repeated'
                -p$'\t''part of the project'"'"'s path'
                --project$'\t''part of the project'"'"'s path'
                --here$'\t''only this directory'"'"'s project'
                -s$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --since$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --until$'\t''turns begun at or before this time'
                --tool$'\t''turns that used this tool; any: some tool'
                --source$'\t''only this agent'"'"'s sessions'
                --session$'\t''only this session; may be repeated; - reads REFs from standard input'
                --branch$'\t''turns on this git branch'
                --model-name$'\t''part of the name of the model that answered'
                --subagents$'\t''include them (the default; a search ranks them below), only them, or exclude them'
                --max-sessions$'\t''only the N most recent sessions'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        index)
            found=(
                --full$'\t''read every transcript again'
                --recreate$'\t''set the store aside and build it anew, keeping turns whose transcript is gone'
                --watch$'\t''then go on taking in what changes, until interrupted; needs ccgrep[mcp]'
                --no-embed$'\t''take in, but embed nothing'
                --embed-all$'\t''embed all turns, not only those of the last 90 days'
                --embed-since$'\t''embed turns begun after this time'
                --model$'\t''the embedding model, by name or directory'
                --source$'\t''only this agent'"'"'s sessions'
                --root$'\t''read this directory instead of the usual ones: a home, or a directory such as ~/.claude or ~/.codex; may be repeated'
                --no-wait$'\t''fail at once when another ccgrep is writing to the store'
                -q$'\t''say nothing but errors'
                --quiet$'\t''say nothing but errors'
                -v$'\t''name files'
                --verbose$'\t''name files'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        status)
            found=(
                --root$'\t''read this directory instead of the usual ones: a home, or a directory such as ~/.claude or ~/.codex; may be repeated'
                -v$'\t''name files'
                --verbose$'\t''name files'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        list)
            found=(
                -p$'\t''part of the project'"'"'s path'
                --project$'\t''part of the project'"'"'s path'
                --here$'\t''only this directory'"'"'s project'
                -s$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --since$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --until$'\t''turns begun at or before this time'
                --tool$'\t''turns that used this tool; any: some tool'
                --source$'\t''only this agent'"'"'s sessions'
                --session$'\t''only this session; may be repeated; - reads REFs from standard input'
                --branch$'\t''turns on this git branch'
                --model-name$'\t''part of the name of the model that answered'
                --subagents$'\t''include them (the default; a search ranks them below), only them, or exclude them'
                --max-sessions$'\t''only the N most recent sessions'
                --tree$'\t''each with the sub-agents that served it and its forks below it'
                -n$'\t''at most N sessions, or trees; 0 is all; 20 on a terminal, else all'
                --limit$'\t''at most N sessions, or trees; 0 is all; 20 on a terminal, else all'
                --color$'\t''colours: auto on a terminal (the default), always, never'
                --colour$'\t''colours: auto on a terminal (the default), always, never'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        show)
            found=(
                --tools$'\t''include tool calls'
                --thinking$'\t''include thinking'
                -A$'\t''N turns after the one that is meant'
                --after-context$'\t''N turns after the one that is meant'
                -B$'\t''N turns before the one that is meant'
                --before-context$'\t''N turns before the one that is meant'
                -C$'\t''N turns on either side'
                --context$'\t''N turns on either side'
                --raw$'\t''each turn'"'"'s object as it is stored, as JSON, one a line'
                --save$'\t''write Markdown to ~/.claude/recalls, one file a REF, and print its path'
                --budget$'\t''print at most N characters, and say on standard error what was left out'
                --no-pager$'\t''print it all at once, on a terminal too'
                --color$'\t''colours: auto on a terminal (the default), always, never'
                --colour$'\t''colours: auto on a terminal (the default), always, never'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        export)
            found=(
                -f$'\t''the form; without it what the name of FILE tells, else md'
                --format$'\t''the form; without it what the name of FILE tells, else md'
                -o$'\t''write FILE instead of printing'
                --output$'\t''write FILE instead of printing'
                --tools$'\t''include tool calls'
                --thinking$'\t''include thinking'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        blame)
            found=(
                -L$'\t''only the turn that wrote line N of the file as it is now, where that can be told'
                --line$'\t''only the turn that wrote line N of the file as it is now, where that can be told'
                -p$'\t''part of the project'"'"'s path'
                --project$'\t''part of the project'"'"'s path'
                --here$'\t''only this directory'"'"'s project'
                -s$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --since$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --until$'\t''turns begun at or before this time'
                --tool$'\t''turns that used this tool; any: some tool'
                --source$'\t''only this agent'"'"'s sessions'
                --session$'\t''only this session; may be repeated; - reads REFs from standard input'
                --branch$'\t''turns on this git branch'
                --model-name$'\t''part of the name of the model that answered'
                --subagents$'\t''include them (the default; a search ranks them below), only them, or exclude them'
                --max-sessions$'\t''only the N most recent sessions'
                -n$'\t''at most N turns; 0 is all, as without it'
                --limit$'\t''at most N turns; 0 is all, as without it'
                --full-id$'\t''whole session ids'
                --color$'\t''colours: auto on a terminal (the default), always, never'
                --colour$'\t''colours: auto on a terminal (the default), always, never'
                --no-refresh$'\t''go by what is indexed, without looking for changes'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        stats)
            found=(
                -p$'\t''part of the project'"'"'s path'
                --project$'\t''part of the project'"'"'s path'
                --here$'\t''only this directory'"'"'s project'
                -s$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --since$'\t''turns begun at or after this time: 30m, 24h, 7d, 2w, 2026-01-15, 2026-01-15T10:30, yesterday'
                --until$'\t''turns begun at or before this time'
                --tool$'\t''turns that used this tool; any: some tool'
                --source$'\t''only this agent'"'"'s sessions'
                --session$'\t''only this session; may be repeated; - reads REFs from standard input'
                --branch$'\t''turns on this git branch'
                --model-name$'\t''part of the name of the model that answered'
                --subagents$'\t''include them (the default; a search ranks them below), only them, or exclude them'
                --max-sessions$'\t''only the N most recent sessions'
                --by$'\t''tools: by project; tokens: by project, model, day or week alone'
                --suggest$'\t''with bash: permission rules that are safe to allow, by how often they would have been of use'
                --settings$'\t''with bash --suggest: as a block for Claude Code'"'"'s settings.json'
                -n$'\t''at most N lines of each kind; 0 is all; 10 on a terminal, else all'
                --limit$'\t''at most N lines of each kind; 0 is all; 10 on a terminal, else all'
                -q$'\t''say nothing but errors'
                --quiet$'\t''say nothing but errors'
                --color$'\t''colours: auto on a terminal (the default), always, never'
                --colour$'\t''colours: auto on a terminal (the default), always, never'
                --json$'\t''print one JSON object, with a schema version'
                --no-refresh$'\t''go by what is indexed, without looking for changes'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        resume)
            found=(
                --exec$'\t''run it in place of ccgrep'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        mcp)
            found=(
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        model)
            found=(
                --model$'\t''the embedding model, by name or directory'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        settings)
            found=(
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        setup)
            found=(
                --dry-run$'\t''say what would be written, and write nothing'
                --remove$'\t''take away what was installed, and nothing else'
                --hook$'\t''claude: also take in a session when it ends'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        completions)
            found=(
                --keys$'\t''the keys too: Ctrl-G inserts a REF, Alt-G a past command'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        fsck)
            found=(
                --repair$'\t''rebuild what can be, and read lost turns again from their transcripts'
                --root$'\t''read this directory instead of the usual ones: a home, or a directory such as ~/.claude or ~/.codex; may be repeated'
                --no-wait$'\t''fail at once when another ccgrep is writing to the store'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        gc)
            found=(
                --no-wait$'\t''fail at once when another ccgrep is writing to the store'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
        forget)
            found=(
                --no-wait$'\t''fail at once when another ccgrep is writing to the store'
                --json$'\t''print one JSON object, with a schema version'
                -h$'\t''show help: -h one screen, --help all of it'
                --help$'\t''show help: -h one screen, --help all of it'
            )
            ;;
    esac
}

_ccgrep_values() {
    case "$1" in
        search:-e | search:--regexp | search:--alpha | search:-s | search:--since | search:--until | search:--max-sessions | search:-n | search:--limit | search:-m | search:--max-count | search:--per-session | search:-A | search:--after-context | search:-B | search:--before-context | search:-C | search:--context | search:--width | search:--budget | search:--timeout | pick:-s | pick:--since | pick:--until | pick:--max-sessions | index:--embed-since | list:-s | list:--since | list:--until | list:--max-sessions | list:-n | list:--limit | show:-A | show:--after-context | show:-B | show:--before-context | show:-C | show:--context | show:--budget | blame:-L | blame:--line | blame:-s | blame:--since | blame:--until | blame:--max-sessions | blame:-n | blame:--limit | stats:-s | stats:--since | stats:--until | stats:--max-sessions | stats:-n | stats:--limit)
            kind=
            ;;
        search:--surface)
            found=(
                prompt
                answer
                full
            )
            ;;
        search:--model | index:--model | index:--root | status:--root | model:--model | fsck:--root)
            kind=dir
            ;;
        search:-t | search:--type | pick:-t | pick:--type)
            found=(
                user
                assistant
                tool
                thinking
            )
            ;;
        search:-p | search:--project | pick:-p | pick:--project | list:-p | list:--project | blame:-p | blame:--project | stats:-p | stats:--project)
            kind=project
            ;;
        search:--tool | pick:--tool | list:--tool | blame:--tool | stats:--tool)
            kind=tool
            ;;
        search:--source | pick:--source | index:--source | list:--source | blame:--source | stats:--source)
            found=(
                claude-code
                claude_code
                codex
            )
            ;;
        search:--session | pick:--session | list:--session | blame:--session | stats:--session)
            kind=session
            ;;
        search:--branch | pick:--branch | list:--branch | blame:--branch | stats:--branch)
            kind=branch
            ;;
        search:--model-name | pick:--model-name | list:--model-name | blame:--model-name | stats:--model-name)
            kind=model
            ;;
        search:--subagents | pick:--subagents | list:--subagents | blame:--subagents | stats:--subagents)
            found=(
                include
                only
                exclude
            )
            ;;
        search:--color | search:--colour | list:--color | list:--colour | show:--color | show:--colour | blame:--color | blame:--colour | stats:--color | stats:--colour)
            found=(
                auto
                always
                never
            )
            ;;
        export:-f | export:--format)
            found=(
                md
                html
                json
            )
            ;;
        export:-o | export:--output)
            kind=file
            ;;
        stats:--by)
            found=(
                project
                model
                day
                week
            )
            ;;
        *) return 1 ;;
    esac
}

_ccgrep_arguments() {
    case "$1" in
        show)
            kind=ref
            ;;
        export)
            kind=ref
            ;;
        blame)
            kind=file
            ;;
        stats)
            found=(
                tools
                bash
                tokens
            )
            ;;
        resume)
            kind=session
            ;;
        model)
            found=(
                pull
            )
            ;;
        setup)
            found=(
                claude
                codex
                shell
            )
            ;;
        completions)
            found=(
                bash
                zsh
                fish
            )
            ;;
        forget)
            kind=ref
            ;;
    esac
}

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
