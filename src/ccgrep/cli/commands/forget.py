"""ccgrep forget: delete sessions for good."""

from types import SimpleNamespace

from ccgrep.cli.context import Context, read_refs
from ccgrep.cli.feedback import make_feedback, make_step_bar
from ccgrep.cli.progress import shared_bar
from ccgrep.ops.gc import forget
from ccgrep.output.json_document import encode_document, forget_fields
from ccgrep.output.report_text import copies_note, forget_lines


def run(arguments: SimpleNamespace, context: Context) -> int:
    wait_s = 0.0 if arguments.no_wait else 10.0
    refs = read_refs(arguments.ref)
    if arguments.remote:
        from ccgrep.cli.team_search import forget_team  # noqa: PLC0415 - only with -R

        return forget_team(arguments, context, refs)
    warn, on_step = make_feedback(arguments, context).warn, make_step_bar(context)
    with shared_bar():
        result = forget(context.config(), refs, wait_s, arguments.forks, warn, on_step)
    if arguments.json:
        context.write(encode_document(forget_fields(result)))
    else:
        context.write_lines(forget_lines(result))
    if result.copies:
        context.warn(copies_note(result.copies))
    return 0
