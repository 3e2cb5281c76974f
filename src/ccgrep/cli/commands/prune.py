"""ccgrep prune: delete transcripts that the store can restore."""

import sys
from collections import Counter
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh, make_feedback, make_step_bar
from ccgrep.cli.progress import shared_bar
from ccgrep.cli.time_argument import parse_when
from ccgrep.errors import UsageError
from ccgrep.ops.prune import Candidate, find_candidates, list_pruned, prune
from ccgrep.output.formatting import byte_size, pluralize
from ccgrep.output.json_document import encode_document
from ccgrep.output.prune_report import (
    candidate_fields,
    candidate_lines,
    kept_lines,
    pruned_fields,
    pruned_lines,
)
from ccgrep.refresh.background import BackgroundRefresh


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    if arguments.list:
        finish_refresh(refresh)
        done = list_pruned(config)
        if arguments.json:
            context.write(encode_document(pruned_fields(done)))
        else:
            context.write_lines(pruned_lines(done))
        return 0
    before_ms = _before(arguments, context)
    finish_refresh(refresh)
    with shared_bar():
        found = find_candidates(config, before_ms, make_step_bar(context))
    chosen = [one for one in found if one.state == "deletable"]
    if chosen and not arguments.dry_run:
        if not arguments.yes and not _is_confirmed(chosen, context):
            context.warn("nothing was deleted")
            return 1
        wait_s = 0.0 if arguments.no_wait else 10.0
        warn = make_feedback(arguments, context).warn
        with shared_bar():
            on_step = make_step_bar(context)
            done_files = prune(config, chosen, context.now_ms, wait_s, warn, on_step)
        changed = {one.path: one for one in done_files}
        found = [changed.get(one.path, one) for one in found]
    _print(found, arguments, context)
    return 0


def _before(arguments: SimpleNamespace, context: Context) -> int:
    if arguments.older_than is None:
        raise UsageError("prune needs an age: use `ccgrep prune --older-than 90d --dry-run`")
    return parse_when(arguments.older_than, context.now_ms)


def _print(found: list[Candidate], arguments: SimpleNamespace, context: Context) -> None:
    if arguments.json:
        context.write(encode_document(candidate_fields(found)))
        return
    context.write_lines(candidate_lines(found))
    states: Counter[str] = Counter(one.state for one in found)
    chosen = [one for one in found if one.state in ("deletable", "deleted")]
    sizes = sum(one.freed for one in chosen)
    count = len(chosen)
    verb = "can be deleted, which frees" if arguments.dry_run else "deleted, which freed"
    context.warn(f"{pluralize(count, 'transcript')} {verb} {byte_size(sizes)}")
    if linked := sum(one.is_linked for one in chosen):
        context.warn(f"{pluralize(linked, 'transcript')} with other hard links: this frees nothing")
    for line in kept_lines(states):
        context.warn(line)


def _is_confirmed(chosen: list[Candidate], context: Context) -> bool:
    if not sys.stdin.isatty() or not context.is_error_terminal:
        raise UsageError("prune asks before it deletes: use --yes, or --dry-run to look first")
    size = byte_size(sum(one.freed for one in chosen))
    sys.stderr.write(
        f"Delete {pluralize(len(chosen), 'transcript')} ({size})? The store has every byte; "
        "`ccgrep restore` writes them back. [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
