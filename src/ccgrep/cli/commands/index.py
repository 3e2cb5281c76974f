"""ccgrep index: take in what changed."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.progress import Bar
from ccgrep.errors import UsageError
from ccgrep.index.build import IndexReport, Progress
from ccgrep.ops import indexing
from ccgrep.output import human, json
from ccgrep.text import escape


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config(arguments.root, arguments.source)
    if not config.roots and not arguments.recreate:
        raise UsageError(
            "there are no transcripts: neither ~/.claude nor ~/.codex is there; "
            "name a directory with --root"
        )
    wait_s = 0.0 if arguments.no_wait else 10.0
    bar = Bar()

    def on_progress(progress: Progress) -> None:
        if arguments.verbose:
            context.say(escape(progress.path))
        elif context.is_error_terminal and not arguments.quiet:
            bar(progress)

    set_aside = ""
    try:
        if arguments.recreate:
            report, set_aside = indexing.recreate(config, wait_s, on_progress)
        else:
            report = indexing.index(config, arguments.full, wait_s, on_progress)
    finally:
        bar.close()
    if arguments.json:
        context.write(json.dumps(json.index_report(report, set_aside)))
    if not arguments.quiet:
        _tell(report, set_aside, arguments.json, context)
    return 0


def _tell(report: IndexReport, set_aside: str, is_json: bool, context: Context) -> None:
    for trouble in report.troubles:
        context.say(f"ccgrep: {escape(trouble)}")
    if not is_json:
        for line in human.index_lines(report, set_aside):
            context.say(line)
