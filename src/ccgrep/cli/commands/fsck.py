"""ccgrep fsck: verify every object, pack and manifest."""

from types import SimpleNamespace

from msgspec.structs import asdict

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import make_feedback, make_step_bar
from ccgrep.cli.progress import shared_bar
from ccgrep.errors import UsageError
from ccgrep.ops.fsck import fsck
from ccgrep.output.json_document import encode_document, fsck_fields
from ccgrep.output.report_text import fsck_lines


def run(arguments: SimpleNamespace, context: Context) -> int:
    if arguments.remote:
        return _run_remote(arguments, context)
    if arguments.read_data:
        raise UsageError("--read-data is for remotes: add --remote NAME")
    config = context.config(arguments.root)
    wait_s, feedback = 0.0 if arguments.no_wait else 10.0, make_feedback(arguments, context)
    with shared_bar():
        result = fsck(config, arguments.repair, wait_s, feedback.warn, make_step_bar(context))
    if arguments.json:
        context.write(encode_document(fsck_fields(result)))
    else:
        context.write_lines(fsck_lines(result))
    return 0 if (result.repaired or result.report).is_clean else 1


def _run_remote(arguments: SimpleNamespace, context: Context) -> int:
    from ccgrep.ops.sync import fsck_remote  # noqa: PLC0415 - needs the extra `remote`
    from ccgrep.output.remote_text import check_lines  # noqa: PLC0415

    if arguments.repair:
        raise UsageError("a remote has no --repair: run `ccgrep push`, which writes what it lacks")
    on_step = make_step_bar(context)
    with shared_bar():
        report = fsck_remote(context.config(), arguments.remote, arguments.read_data, on_step)
    if arguments.json:
        context.write(encode_document(asdict(report)))
    else:
        context.write_lines(check_lines(report))
    return 0 if report.is_clean else 1
