"""What `ccgrep push` and `sync` do with teams' servers."""

from ccgrep.cli.context import Context
from ccgrep.config import Config
from ccgrep.ops import team
from ccgrep.ops.sync import SyncOptions
from ccgrep.output.formatting import pluralize
from ccgrep.output.team_text import push_fields, push_lines
from ccgrep.steps import OnStep
from ccgrep.team.push import TeamReport

Pushed = dict[str, TeamReport]
"""What was pushed to each server, by its name."""


def push_teams(
    config: Config, names: list[str], options: SyncOptions, on_progress: OnStep
) -> Pushed:
    def on_turn(done: int, total: int) -> None:
        on_progress("turns", done, total)

    return {
        name: team.push(config, name, options.is_dry_run, options.wait_s, on_turn) for name in names
    }


def find_problems(pushed: Pushed) -> list[str]:
    problems = []
    for name, report in pushed.items():
        if report.refused:
            sessions = pluralize(len(report.refused), "session")
            problems.append(f"{name} has forgotten {sessions} and refuses them")
        if report.lost:
            turns = pluralize(report.lost, "turn")
            problems.append(f"{turns} cannot be read and were not pushed: run `ccgrep fsck`")
    return problems


def print_pushed(pushed: Pushed, context: Context, is_dry_run: bool) -> None:
    for name, report in pushed.items():
        context.write_lines(push_lines(name, report, is_dry_run))


def json_fields(pushed: Pushed) -> list[dict[str, object]]:
    return [push_fields(name, report) for name, report in pushed.items()]
