# ccgrep completions for bash, generated from src/ccgrep/cli/flags.py by scripts/generate.

# Each function sets `candidates`, lines of a value, a tab and a description, or `kind`, the kind
# of live values or paths to complete.

_ccgrep_is_command() {
    case "$1" in
        search | pick | index | status | list | log | mark | unmark | brief | show | export | blame | notes | stats | prune | restore | resume | mcp | model | settings | setup | completions | fsck | gc | secrets | sources | import | forget | remote | push | pull | sync | team) return 0 ;;
    esac
    return 1
}

_ccgrep_commands() {
    candidates=(
        search$'\t''find the turns that match (the default command)'
        pick$'\t''search interactively with fzf'
        index$'\t''ingest new and changed transcripts'
        status$'\t''show what is indexed and what is out of date'
        list$'\t''list sessions, most recent first'
        log$'\t''print turns in time order'
        mark$'\t''put tags and notes on turns and sessions'
        unmark$'\t''remove tags, or whole marks'
        brief$'\t''print what was worked on, decided and left open'
        show$'\t''print a session or a turn as a conversation'
        export$'\t''export sessions as Markdown, HTML or JSON'
        blame$'\t''list the turns that read or changed a file, or made a commit'
        notes$'\t''show or write git notes that name the turns behind commits'
        stats$'\t''count sessions, tools and tokens; suggest permissions'
        prune$'\t''delete transcripts that the store can restore'
        restore$'\t''write deleted transcripts back to disk'
        resume$'\t''print or run the command that resumes a session'
        mcp$'\t''run an MCP server on standard input and output'
        model$'\t''show or download the embedding model'
        settings$'\t''print all settings and where they come from'
        setup$'\t''install ccgrep into an agent or a shell, or remove it'
        completions$'\t''print shell completions'
        fsck$'\t''verify every object, pack and manifest'
        gc$'\t''merge packs and delete unreferenced objects'
        secrets$'\t''find secrets in the store'
        sources$'\t''list the agents that ccgrep reads'
        import$'\t''store sessions from an exchange file or a data export'
        forget$'\t''delete sessions for good'
        remote$'\t''add, list or remove remotes, and manage their keys'
        push$'\t''write this machine'"'"'s sessions to a remote'
        pull$'\t''fetch the sessions of other machines from a remote'
        sync$'\t''pull, then push'
        team$'\t''run a team'"'"'s server on PostgreSQL'
    )
}

_ccgrep_options() {
    case "$1" in
        search)
            candidates=(
                -e$'\t''search for PATTERN'
                --regexp$'\t''search for PATTERN'
                -F$'\t''treat the pattern as literal text'
                --fixed-strings$'\t''treat the pattern as literal text'
                -E$'\t''treat the pattern as a regular expression'
                --extended-regexp$'\t''treat the pattern as a regular expression'
                -i$'\t''ignore case with -F and -E'
                --ignore-case$'\t''ignore case with -F and -E'
                -w$'\t''match only whole words with -F and -E'
                --word-regexp$'\t''match only whole words with -F and -E'
                --all$'\t''print only turns that have all words'
                --words$'\t''rank by words alone, even if the pattern is a question'
                --semantic$'\t''rank by meaning instead of words'
                --hybrid$'\t''rank by words and meaning together'
                --surface$'\t''search only this part of each turn'
                --alpha$'\t''set the weight of meaning in --hybrid, from 0 to 1'
                --model$'\t''use this embedding model, given by name or directory'
                -v$'\t''print turns that do not match'
                --invert-match$'\t''print turns that do not match'
                -t$'\t''search only this kind of text'
                --type$'\t''search only this kind of text'
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                --documents$'\t''include or exclude project memory and plans, or show only them'
                -R$'\t''search a team'"'"'s server instead of this machine'"'"'s store'
                --remote$'\t''search a team'"'"'s server instead of this machine'"'"'s store'
                --owner$'\t''limit to sessions that this person pushed'
                -n$'\t''print at most N hits'
                --limit$'\t''print at most N hits'
                -m$'\t''print at most N hits'
                --max-count$'\t''print at most N hits'
                --per-session$'\t''print at most N hits per session'
                --sort$'\t''print the best, the newest (time) or the oldest hits first'
                --include-self$'\t''include the session that runs this command'
                -A$'\t''also print the next N turns'
                --after-context$'\t''also print the next N turns'
                -B$'\t''also print the previous N turns'
                --before-context$'\t''also print the previous N turns'
                -C$'\t''also print N turns before and after'
                --context$'\t''also print N turns before and after'
                -l$'\t''print only the ids of sessions with a hit'
                --files-with-matches$'\t''print only the ids of sessions with a hit'
                --sessions-with-matches$'\t''print only the ids of sessions with a hit'
                -L$'\t''print only the ids of sessions without a hit'
                --files-without-match$'\t''print only the ids of sessions without a hit'
                --sessions-without-match$'\t''print only the ids of sessions without a hit'
                -c$'\t''print SESSION:COUNT for each session with a hit'
                --count$'\t''print SESSION:COUNT for each session with a hit'
                -o$'\t''print each match on a line of its own'
                --only-matching$'\t''print each match on a line of its own'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --silent$'\t''print only errors'
                -0$'\t''end each record with NUL instead of a newline'
                --null$'\t''end each record with NUL instead of a newline'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --full-id$'\t''print whole session ids'
                --long$'\t''show more of each message on a terminal'
                --width$'\t''cut snippets to N columns'
                --budget$'\t''print at most N characters'
                --json$'\t''print one JSON object'
                --jsonl$'\t''print one JSON object per hit'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --explain$'\t''print the parts of each score on standard error'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --no-index$'\t''read every turn instead of the full-text index'
                --timeout$'\t''stop a -F or -E search after this many seconds of CPU time'
                -V$'\t''print the version'
                --version$'\t''print the version'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        pick)
            candidates=(
                --commands$'\t''pick a shell command that an agent ran'
                --semantic$'\t''rank by meaning instead of words'
                -t$'\t''search only this kind of text'
                --type$'\t''search only this kind of text'
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                --documents$'\t''include or exclude project memory and plans, or show only them'
                -n$'\t''offer at most N turns or commands'
                --limit$'\t''offer at most N turns or commands'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        index)
            candidates=(
                --full$'\t''read every transcript again'
                --recreate$'\t''rebuild the store from the transcripts'
                --watch$'\t''keep running and ingest every change'
                --no-embed$'\t''do not embed new turns'
                --embed-all$'\t''embed all turns, not only those of the last 90 days'
                --embed-since$'\t''embed turns that started after TIME'
                --model$'\t''use this embedding model, given by name or directory'
                --source$'\t''limit to sessions of this agent'
                --root$'\t''read transcripts below DIR instead of the default directories'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                -v$'\t''print the name of each transcript that is read'
                --verbose$'\t''print the name of each transcript that is read'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        status)
            candidates=(
                --by$'\t''print the size of each project instead'
                --root$'\t''read transcripts below DIR instead of the default directories'
                -v$'\t''also print where transcripts are damaged'
                --verbose$'\t''also print where transcripts are damaged'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        list)
            candidates=(
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                --documents$'\t''include or exclude project memory and plans, or show only them'
                -R$'\t''read from a team'"'"'s server instead of this machine'"'"'s store'
                --remote$'\t''read from a team'"'"'s server instead of this machine'"'"'s store'
                --owner$'\t''limit to sessions that this person pushed'
                --tree$'\t''print sub-agents and forks below the session they come from'
                --gone$'\t''print only sessions whose transcript was deleted'
                --include-self$'\t''include the session that runs this command'
                -n$'\t''print at most N sessions, or trees'
                --limit$'\t''print at most N sessions, or trees'
                --full-id$'\t''print whole session ids'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        log)
            candidates=(
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                --documents$'\t''include or exclude project memory and plans, or show only them'
                -n$'\t''print at most the N newest turns'
                --limit$'\t''print at most the N newest turns'
                --day$'\t''print a stand-up report instead'
                --markdown$'\t''print the report as Markdown'
                --reverse$'\t''print the oldest turns first'
                --format$'\t''print TEMPLATE for each turn'
                --no-pager$'\t''never start a pager'
                --full-id$'\t''print whole session ids'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        mark)
            candidates=(
                --note$'\t''store TEXT with the mark'
                --full-id$'\t''print whole session ids'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        unmark)
            candidates=(
                --full-id$'\t''print whole session ids'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        brief)
            candidates=(
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                -n$'\t''print at most N sessions'
                --limit$'\t''print at most N sessions'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        show)
            candidates=(
                --tools$'\t''include tool calls'
                --thinking$'\t''include thinking'
                --full$'\t''print the complete output of each tool'
                --commits$'\t''also print the commits that each turn made'
                -A$'\t''also print the next N turns'
                --after-context$'\t''also print the next N turns'
                -B$'\t''also print the previous N turns'
                --before-context$'\t''also print the previous N turns'
                -C$'\t''also print N turns before and after'
                --context$'\t''also print N turns before and after'
                -n$'\t''print at most N turns of each REF'
                --limit$'\t''print at most N turns of each REF'
                --raw$'\t''print turns as they are stored'
                --save$'\t''save as Markdown in ~/.claude/recalls'
                --budget$'\t''print at most N characters'
                -R$'\t''read from a team'"'"'s server instead of this machine'"'"'s store'
                --remote$'\t''read from a team'"'"'s server instead of this machine'"'"'s store'
                --no-pager$'\t''never start a pager'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        export)
            candidates=(
                -f$'\t''choose the format'
                --format$'\t''choose the format'
                -o$'\t''write to FILE instead of standard output'
                --output$'\t''write to FILE instead of standard output'
                --site$'\t''write a site of all sessions, or of each REF, to DIR'
                --tools$'\t''include tool calls'
                --thinking$'\t''include thinking'
                -n$'\t''print at most N turns of each REF'
                --limit$'\t''print at most N turns of each REF'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        blame)
            candidates=(
                --commit$'\t''print the turns that made a commit of this repository'
                -L$'\t''print only the turn that wrote line N'
                --line$'\t''print only the turn that wrote line N'
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                -n$'\t''print at most N turns'
                --limit$'\t''print at most N turns'
                --full-id$'\t''print whole session ids'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        notes)
            candidates=(
                --write$'\t''write the notes'
                -n$'\t''examine at most N commits'
                --limit$'\t''examine at most N commits'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        stats)
            candidates=(
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                -R$'\t''read from a team'"'"'s server instead of this machine'"'"'s store'
                --remote$'\t''read from a team'"'"'s server instead of this machine'"'"'s store'
                --owner$'\t''limit to sessions that this person pushed'
                --by$'\t''group by project, model, day, week, month or session'
                --budget$'\t''print how much of a budget of USD dollars is left'
                --html$'\t''write a page with charts to FILE, and print its path'
                --suggest$'\t''suggest permission rules that are safe to allow'
                --settings$'\t''print the rules for Claude Code'"'"'s settings.json'
                --include-reviewed$'\t''also print the exact commands that you have reviewed'
                -n$'\t''print at most N lines of each kind'
                --limit$'\t''print at most N lines of each kind'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --color$'\t''choose when to use colors'
                --colour$'\t''choose when to use colors'
                --json$'\t''print one JSON object'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        prune)
            candidates=(
                --older-than$'\t''delete transcripts that have not changed since TIME'
                -n$'\t''print what could be deleted, and delete nothing'
                --dry-run$'\t''print what could be deleted, and delete nothing'
                -y$'\t''do not ask'
                --yes$'\t''do not ask'
                --list$'\t''list the transcripts that were deleted, and when'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        restore)
            candidates=(
                --to$'\t''write below DIR instead of ~/.claude or ~/.codex'
                -n$'\t''print what would be written, and write nothing'
                --dry-run$'\t''print what would be written, and write nothing'
                --force$'\t''replace files that differ'
                --version$'\t''restore an earlier content of a transcript that was rewritten'
                --versions$'\t''list the stored contents of the transcript'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        resume)
            candidates=(
                --exec$'\t''run the command instead of printing it'
                --in$'\t''resume in DIR, for example in another checkout of the repository'
                --with$'\t''continue in a new session of this agent'
                --no-redact$'\t''print secrets instead of [redacted:NAME]'
                --no-refresh$'\t''do not ingest changed transcripts first'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        mcp)
            candidates=(
                --no-redact$'\t''show secrets to the agent'
                -R$'\t''serve a team'"'"'s server instead of this machine'"'"'s store'
                --remote$'\t''serve a team'"'"'s server instead of this machine'"'"'s store'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        model)
            candidates=(
                --model$'\t''use this embedding model, given by name or directory'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        settings)
            candidates=(
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        setup)
            candidates=(
                --dry-run$'\t''print what would change, but write nothing'
                --remove$'\t''remove what setup installed'
                --hook$'\t''also ingest each Claude Code session when it ends'
                --recall$'\t''also add relevant past turns to new sessions and prompts'
                --every$'\t''sync once every TIME'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        completions)
            candidates=(
                --keys$'\t''include the keys that `ccgrep setup shell` installs'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        fsck)
            candidates=(
                --repair$'\t''rebuild what is damaged'
                --remote$'\t''check a remote instead'
                --read-data$'\t''also read every pack of the remote'
                --root$'\t''read transcripts below DIR instead of the default directories'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        gc)
            candidates=(
                --remote$'\t''clean up a remote instead'
                --grace$'\t''keep unreferenced packs of the remote for N days'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        secrets)
            candidates=(
                -p$'\t''limit to projects whose path contains STR'
                --project$'\t''limit to projects whose path contains STR'
                --here$'\t''limit to the project of the current directory'
                -s$'\t''limit to turns that started at TIME or later'
                --since$'\t''limit to turns that started at TIME or later'
                --until$'\t''limit to turns that started at TIME or earlier'
                --tool$'\t''limit to turns that used this tool'
                --source$'\t''limit to sessions of this agent'
                --session$'\t''limit to one session'
                --branch$'\t''limit to turns on this git branch'
                --model-name$'\t''limit to turns answered by a model whose name contains STR'
                --subagents$'\t''include or exclude sub-agents, or show only them'
                --machine$'\t''limit to sessions of this machine'
                --tag$'\t''limit to turns and sessions that `ccgrep mark` gave this tag'
                --max-sessions$'\t''limit to the N most recent sessions'
                -n$'\t''print at most N secrets'
                --limit$'\t''print at most N secrets'
                --full-id$'\t''print whole session ids'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        sources)
            candidates=(
                --root$'\t''read transcripts below DIR instead of the default directories'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        import)
            candidates=(
                --no-wait$'\t''fail at once if another ccgrep is writing'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        forget)
            candidates=(
                --forks$'\t''also delete forks and copies that share its turns'
                -R$'\t''delete your sessions from a team'"'"'s server instead'
                --remote$'\t''delete your sessions from a team'"'"'s server instead'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        remote)
            candidates=(
                -p$'\t''push projects of this name to a team'"'"'s server'
                --project$'\t''push projects of this name to a team'"'"'s server'
                --endpoint$'\t''use this server instead of the cloud'"'"'s own'
                --ssh-command$'\t''run CMD instead of ssh'
                --key$'\t''use an exported key'
                --no-encryption$'\t''store everything in plain text'
                --machine-name$'\t''name this machine'
                --new-id$'\t''also give this machine a new id'
                --public$'\t''export only the public half'
                --passphrase$'\t''protect the exported key with a passphrase'
                --remote$'\t''choose the remote'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        push)
            candidates=(
                --dry-run$'\t''print what would be written, and write nothing'
                --limit-rate$'\t''transfer RATE bytes per second on average, such as 500k'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        pull)
            candidates=(
                --limit-rate$'\t''transfer RATE bytes per second on average, such as 500k'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        sync)
            candidates=(
                --limit-rate$'\t''transfer RATE bytes per second on average, such as 500k'
                --no-refresh$'\t''do not ingest changed transcripts first'
                --no-wait$'\t''fail at once if another ccgrep is writing'
                -q$'\t''print only errors'
                --quiet$'\t''print only errors'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
        team)
            candidates=(
                -p$'\t''grant or revoke projects of this name'
                --project$'\t''grant or revoke projects of this name'
                --read-only$'\t''do not allow pushing'
                --shard$'\t''pass all calls on to this server, with PL/Proxy'
                --partitions$'\t''split the turns into N tables'
                --json$'\t''print one JSON object'
                -h$'\t''print help'
                --help$'\t''print help'
            )
            ;;
    esac
}

_ccgrep_values() {
    case "$1" in
        search:-e | search:--regexp | search:--alpha | search:-s | search:--since | search:--until | search:--max-sessions | search:--owner | search:-n | search:--limit | search:-m | search:--max-count | search:--per-session | search:-A | search:--after-context | search:-B | search:--before-context | search:-C | search:--context | search:--width | search:--budget | search:--timeout | pick:-s | pick:--since | pick:--until | pick:--max-sessions | pick:-n | pick:--limit | index:--embed-since | list:-s | list:--since | list:--until | list:--max-sessions | list:--owner | list:-n | list:--limit | log:-s | log:--since | log:--until | log:--max-sessions | log:-n | log:--limit | log:--format | mark:--note | brief:-s | brief:--since | brief:--until | brief:--max-sessions | brief:-n | brief:--limit | show:-A | show:--after-context | show:-B | show:--before-context | show:-C | show:--context | show:-n | show:--limit | show:--budget | export:-n | export:--limit | blame:-L | blame:--line | blame:-s | blame:--since | blame:--until | blame:--max-sessions | blame:-n | blame:--limit | notes:-n | notes:--limit | stats:-s | stats:--since | stats:--until | stats:--max-sessions | stats:--owner | stats:--budget | stats:-n | stats:--limit | prune:--older-than | restore:--version | setup:--every | gc:--grace | secrets:-s | secrets:--since | secrets:--until | secrets:--max-sessions | secrets:-n | secrets:--limit | remote:-p | remote:--project | remote:--endpoint | remote:--ssh-command | remote:--machine-name | push:--limit-rate | pull:--limit-rate | sync:--limit-rate | team:-p | team:--project | team:--shard | team:--partitions)
            kind=
            ;;
        search:--surface)
            candidates=(
                prompt
                answer
                full
            )
            ;;
        search:--model | index:--model | index:--root | status:--root | export:--site | restore:--to | resume:--in | model:--model | fsck:--root | sources:--root)
            kind=dir
            ;;
        search:-t | search:--type | pick:-t | pick:--type)
            candidates=(
                user
                assistant
                tool
                thinking
            )
            ;;
        search:-p | search:--project | pick:-p | pick:--project | list:-p | list:--project | log:-p | log:--project | brief:-p | brief:--project | blame:-p | blame:--project | stats:-p | stats:--project | secrets:-p | secrets:--project)
            kind=project
            ;;
        search:--tool | pick:--tool | list:--tool | log:--tool | brief:--tool | blame:--tool | stats:--tool | secrets:--tool)
            kind=tool
            ;;
        search:--source | pick:--source | index:--source | list:--source | log:--source | brief:--source | blame:--source | stats:--source | secrets:--source)
            candidates=(
                claude-code
                claude_code
                codex
                opencode
                pi
                oh-my-pi
                copilot-cli
                gemini
                qwen
                cursor
                copilot-chat
                cline
                roo
                aider
                claude-ai
                chatgpt
                imported
            )
            ;;
        search:--session | pick:--session | list:--session | log:--session | brief:--session | blame:--session | stats:--session | secrets:--session)
            kind=session
            ;;
        search:--branch | pick:--branch | list:--branch | log:--branch | brief:--branch | blame:--branch | stats:--branch | secrets:--branch)
            kind=branch
            ;;
        search:--model-name | pick:--model-name | list:--model-name | log:--model-name | brief:--model-name | blame:--model-name | stats:--model-name | secrets:--model-name)
            kind=model
            ;;
        search:--subagents | search:--documents | pick:--subagents | pick:--documents | list:--subagents | list:--documents | log:--subagents | log:--documents | brief:--subagents | blame:--subagents | stats:--subagents | secrets:--subagents)
            candidates=(
                include
                only
                exclude
            )
            ;;
        search:--machine | pick:--machine | list:--machine | log:--machine | brief:--machine | blame:--machine | stats:--machine | secrets:--machine)
            kind=machine
            ;;
        search:--tag | pick:--tag | list:--tag | log:--tag | brief:--tag | blame:--tag | stats:--tag | secrets:--tag)
            kind=tag
            ;;
        search:-R | search:--remote | list:-R | list:--remote | show:-R | show:--remote | stats:-R | stats:--remote | mcp:-R | mcp:--remote | fsck:--remote | gc:--remote | forget:-R | forget:--remote | remote:--remote)
            kind=remote
            ;;
        search:--sort)
            candidates=(
                score
                time
                oldest
            )
            ;;
        search:--color | search:--colour | list:--color | list:--colour | log:--color | log:--colour | mark:--color | mark:--colour | unmark:--color | unmark:--colour | brief:--color | brief:--colour | show:--color | show:--colour | blame:--color | blame:--colour | stats:--color | stats:--colour)
            candidates=(
                auto
                always
                never
            )
            ;;
        status:--by)
            candidates=(
                project
            )
            ;;
        export:-f | export:--format)
            candidates=(
                md
                html
                json
            )
            ;;
        export:-o | export:--output | stats:--html | remote:--key)
            kind=file
            ;;
        blame:--commit)
            kind=commit
            ;;
        stats:--by)
            candidates=(
                project
                model
                day
                week
                month
                session
            )
            ;;
        resume:--with)
            candidates=(
                claude
                codex
            )
            ;;
        *) return 1 ;;
    esac
}

_ccgrep_arguments() {
    case "$1" in
        mark)
            kind=mark
            ;;
        unmark)
            kind=mark
            ;;
        show)
            kind=ref
            ;;
        export)
            kind=ref
            ;;
        blame)
            kind=file
            ;;
        notes)
            kind=commit
            ;;
        stats)
            candidates=(
                tools
                bash
                tokens
                cost
            )
            ;;
        restore)
            kind=session
            ;;
        resume)
            kind=session
            ;;
        model)
            candidates=(
                list
                pull
            )
            ;;
        setup)
            candidates=(
                claude
                codex
                shell
                sync
            )
            ;;
        completions)
            candidates=(
                bash
                zsh
                fish
            )
            ;;
        import)
            kind=file
            ;;
        forget)
            kind=ref
            ;;
        remote)
            candidates=(
                add
                list
                status
                remove
                rename-machine
                remove-machine
                key
            )
            ;;
        push)
            kind=remote
            ;;
        pull)
            kind=remote
            ;;
        sync)
            kind=remote
            ;;
        team)
            candidates=(
                init
                grant
                revoke
                status
                purge
            )
            ;;
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
