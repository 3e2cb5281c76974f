"""ccgrep unmark: remove tags or whole marks."""

from types import SimpleNamespace

from ccgrep.cli.commands.mark import print_marks
from ccgrep.cli.context import Context, read_refs
from ccgrep.cli.feedback import finish_refresh, make_feedback
from ccgrep.ops.marks import unmark
from ccgrep.refresh.background import BackgroundRefresh


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    ref, *tags = arguments.ref_tag
    named = read_refs([ref])
    finish_refresh(refresh)
    wait_s = 0.0 if arguments.no_wait else 10.0
    warn = make_feedback(arguments, context).warn
    changed = unmark(context.config(), named, tags, wait_s, warn)
    if not changed:
        context.warn("nothing has this mark: run `ccgrep mark` to list the marks")
    print_marks(changed, arguments, context)
    return 0 if changed else 1
