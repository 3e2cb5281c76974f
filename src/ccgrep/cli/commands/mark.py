"""ccgrep mark: put tags and notes on turns and sessions, or list them."""

from types import SimpleNamespace

from ccgrep.cli.context import Context, read_refs
from ccgrep.cli.feedback import finish_refresh, make_feedback
from ccgrep.errors import UsageError
from ccgrep.ops.marks import ListedMark, list_marks, mark
from ccgrep.output.json_document import encode_document
from ccgrep.output.mark_lines import mark_fields, mark_line
from ccgrep.refresh.background import BackgroundRefresh


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    ref, *tags = arguments.ref_tag or [""]
    if not ref and arguments.note is not None:
        raise UsageError("--note needs a REF: use `ccgrep mark REF --note TEXT`")
    named = read_refs([ref]) if ref else []
    finish_refresh(refresh)
    config = context.config()
    if not ref:
        found = list_marks(config)
        if not found:
            context.warn("nothing is marked: use `ccgrep mark REF TAG`")
        print_marks(found, arguments, context)
        return 0 if found else 1
    wait_s = 0.0 if arguments.no_wait else 10.0
    warn = make_feedback(arguments, context).warn
    print_marks(mark(config, named, tags, arguments.note, wait_s, warn), arguments, context)
    return 0


def print_marks(found: list[ListedMark], arguments: SimpleNamespace, context: Context) -> None:
    if arguments.json:
        context.write(encode_document(mark_fields(found)))
        return
    style = context.style_for(arguments.color)
    context.write_lines(mark_line(one, arguments.full_id, style) for one in found)
