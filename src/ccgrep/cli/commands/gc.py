"""ccgrep gc: merge packs and delete unreferenced objects."""

from types import SimpleNamespace

from msgspec.structs import asdict

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import make_feedback, make_step_bar
from ccgrep.cli.progress import shared_bar
from ccgrep.errors import UsageError
from ccgrep.ops.gc import gc
from ccgrep.output.json_document import encode_document
from ccgrep.output.report_text import gc_lines

_GRACE_DAYS = 7


def run(arguments: SimpleNamespace, context: Context) -> int:
    if arguments.remote:
        return _run_remote(arguments, context)
    if arguments.grace is not None:
        raise UsageError("--grace is for remotes: add --remote NAME")
    wait_s, feedback = 0.0 if arguments.no_wait else 10.0, make_feedback(arguments, context)
    with shared_bar():
        report = gc(context.config(), wait_s, feedback.warn, make_step_bar(context))
    if arguments.json:
        context.write(encode_document(asdict(report)))
    else:
        context.write_lines(gc_lines(report))
    return 0


def _run_remote(arguments: SimpleNamespace, context: Context) -> int:
    from ccgrep.ops.sync import gc_remote  # noqa: PLC0415 - needs the extra `remote`
    from ccgrep.output.remote_text import collect_line  # noqa: PLC0415

    grace_days = _GRACE_DAYS if arguments.grace is None else arguments.grace
    wait_s = 0.0 if arguments.no_wait else 10.0
    on_step = make_step_bar(context)
    with shared_bar():
        report, collected = gc_remote(
            context.config(), arguments.remote, grace_days, wait_s, on_step
        )
    for problem in report.problems:
        context.warn(problem)
    if arguments.json:
        context.write(encode_document(asdict(collected)))
    else:
        context.write(collect_line(collected))
    return 1 if report.problems else 0
