"""Reports what was asked, changed and committed in a project on a day."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ccgrep.blame.file_access import file_accesses
from ccgrep.blame.recorded_commits import RecordedCommit, recorded_commits
from ccgrep.search.turn_log import LoggedTurn
from ccgrep.search.turn_reader import TurnReader


class ChangedFile(Struct, frozen=True):
    """A file with what was done to it: `wrote`, `edited` or `deleted`."""

    path: str
    actions: tuple[str, ...]


class DayReport(Struct, frozen=True):
    """A day in a project. `cost` is in trillionths of a dollar, or None if it is unknown.

    `unpriced` are the models that are not in the cost, because they have no price.
    """

    day: str
    project: str
    asked: tuple[LoggedTurn, ...]
    files: tuple[ChangedFile, ...]
    commits: tuple[RecordedCommit, ...]
    agent_turns: int = 0  # of sub-agents
    cost: int | None = None
    unpriced: tuple[str, ...] = ()


def report_days(
    asked: Iterable[LoggedTurn],
    worked: Iterable[LoggedTurn],
    reader: TurnReader,
    day_of: Callable[[int], str],
) -> Iterator[DayReport]:
    """Yield a report for each day and project, the latest day and the busiest project first.

    `asked` are the turns of main sessions, `worked` also those of sub-agents.
    """
    prompts: dict[tuple[str, str], list[LoggedTurn]] = {}
    for turn in asked:
        prompts.setdefault((day_of(turn.started), turn.project), []).append(turn)
    work: dict[tuple[str, str], list[LoggedTurn]] = {}
    for turn in worked:
        work.setdefault((day_of(turn.started), turn.project), []).append(turn)
    busiest = sorted(
        prompts.keys() | work.keys(), key=lambda key: (-len(prompts.get(key, ())), key[1])
    )
    for key in sorted(busiest, key=lambda key: key[0], reverse=True):
        mine = prompts.get(key, [])
        turns = sorted(work.get(key, []), key=_oldest_first)
        files, commits = _changes(turns, reader)
        yield DayReport(
            day=key[0],
            project=key[1],
            asked=tuple(sorted(mine, key=_oldest_first)),
            files=files,
            commits=commits,
            agent_turns=max(len(turns) - len(mine), 0),
        )


def _oldest_first(turn: LoggedTurn) -> tuple[int, str, int]:
    return turn.started, turn.place.session, turn.place.turn


def _changes(
    turns: Iterable[LoggedTurn], reader: TurnReader
) -> tuple[tuple[ChangedFile, ...], tuple[RecordedCommit, ...]]:
    actions: dict[str, dict[str, None]] = {}
    commits: dict[RecordedCommit, None] = {}
    for logged in turns:
        turn = reader.turn(*logged.place)
        if turn is None:
            continue
        entry = reader.entry(*logged.place)
        for access in file_accesses(turn, entry.cwd if entry is not None else ""):
            if access.action != "read":
                actions.setdefault(access.path, {})[access.action] = None
        commits.update(dict.fromkeys(recorded_commits(turn)))
    files = tuple(ChangedFile(path, tuple(done)) for path, done in sorted(actions.items()))
    return files, tuple(commits)
