"""What `ccgrep push`, `pull` and `sync` have in common."""

from __future__ import annotations

import time
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import clear_progress_bar, finish_refresh
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.ops.sync import SyncOptions, SyncReport, sync, team_names
from ccgrep.output.formatting import byte_size
from ccgrep.output.json_document import encode_document
from ccgrep.output.remote_text import sync_fields, sync_lines
from ccgrep.refresh.background import BackgroundRefresh

if TYPE_CHECKING:
    from ccgrep.cli.team_push import Pushed
    from ccgrep.steps import OnStep

_UNITS = {"": 1, "k": 1000, "m": 1_000_000, "g": 1_000_000_000}


def run_sync(
    arguments: SimpleNamespace,
    context: Context,
    is_pull: bool,
    is_push: bool,
    refresh: BackgroundRefresh | None = None,
) -> int:
    is_dry_run = getattr(arguments, "dry_run", False)
    finish_refresh(refresh)
    options = SyncOptions(
        is_pull=is_pull,
        is_push=is_push,
        is_dry_run=is_dry_run,
        wait_s=0.0 if arguments.no_wait else 10.0,
        limit_rate=parse_rate(arguments.limit_rate) if arguments.limit_rate else None,
    )
    on_step = _make_bar(arguments, context)
    config = context.config()
    teams = team_names(config, arguments.remote)
    if arguments.remote and teams and not is_push:
        name = arguments.remote
        raise UsageError(f"a team's server is not pulled: search it with `ccgrep -R {name} WORDS`")
    pushed: Pushed = {}
    try:
        reports = sync(config, arguments.remote, options, on_step)
        if is_push and teams:
            from ccgrep.cli.team_push import push_teams  # noqa: PLC0415 - only with a server

            pushed = push_teams(config, teams, options, on_step)
    finally:
        clear_progress_bar()
    return _print(reports, pushed, arguments, context)


def _make_bar(arguments: SimpleNamespace, context: Context) -> OnStep:
    """Return a callback that shows how much of each kind of work is done, and how fast."""
    started: dict[str, float] = {}

    def on_step(what: str, done: int, total: int) -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only for long work

            now = time.monotonic()
            text = progress_text(what, done, total, now - started.setdefault(what, now))
            shared_bar().count(done, total, text)

    return on_step


def _print(
    reports: list[SyncReport], pushed: Pushed, arguments: SimpleNamespace, context: Context
) -> int:
    is_dry_run = getattr(arguments, "dry_run", False)
    problems = [problem for report in reports for problem in report.problems]
    fields = sync_fields(reports)
    if pushed:
        from ccgrep.cli.team_push import find_problems, json_fields  # noqa: PLC0415

        problems += find_problems(pushed)
        fields["teams"] = json_fields(pushed)
    for problem in problems:
        context.warn(problem)
    if arguments.json:
        context.write(encode_document(fields))
    elif not arguments.quiet:
        for report in reports:
            context.write_lines(sync_lines(report, is_dry_run))
        if pushed:
            from ccgrep.cli.team_push import print_pushed  # noqa: PLC0415

            print_pushed(pushed, context, is_dry_run)
    return 1 if problems else 0


def progress_text(what: str, done: int, total: int, seconds: float) -> str:
    """Return how much is done, how fast, and how long the rest will take."""
    rate = done / max(seconds, 0.001)
    if what == "bytes":
        text = f"{byte_size(done)}/{byte_size(total)}  {byte_size(rate)}/s"
    else:
        text = f"{done:,}/{total:,} {what}  {rate:,.0f}/s"
    return f"{text}  {(total - done) / rate:.0f} s left" if done else text


def parse_rate(text: str) -> int:
    """Return the bytes per second of a rate such as `500k` or `2M`."""
    number, unit = text.rstrip("kKmMgG"), text.lstrip("0123456789.").lower()
    try:
        rate = int(float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        rate = 0
    if rate <= 0:
        raise UsageError(f"invalid rate '{text}': use a number such as 500k or 2M")
    return rate
