"""What `-R` means for the commands that search and read."""

import time
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.kinds import DefaultMode
from ccgrep.ops import team
from ccgrep.ops.list import ListedSession
from ccgrep.ops.search import Result
from ccgrep.ops.show import Conversation, PlacedTurn
from ccgrep.output.formatting import pluralize
from ccgrep.output.json_document import encode_document
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.request import Coverage, Filters, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.team.history import TeamConversation


class TeamHistory:
    """The sessions of a server, for the tools of `ccgrep mcp`."""

    def __init__(self, config: Config, name: str) -> None:
        self._config = config
        self._name = name

    def set_mode(self, request: Request, wanted: DefaultMode) -> Request:
        """Rank by words, unless the agent or a setting names another mode."""
        return request if wanted == "auto" else request._replace(mode=wanted)

    def search(self, request: Request, options: SearchOptions) -> Result:
        return _search(self._config, request, options, [self._name], ())

    def list_sessions(self, filters: Filters, is_folded: bool) -> list[ListedSession]:
        return _list(self._config, self._name, (), filters, 0, is_folded)

    def show_range(self, session_id: str, start: int, count: int) -> Conversation:
        return _conversation(team.show_range(self._config, self._name, session_id, start, count))


def search_team(
    config: Config,
    request: Request,
    options: SearchOptions,
    arguments: SimpleNamespace,
    refresh: BackgroundRefresh | None,
) -> Result:
    """Answer a request from the places that `-R` names."""
    if not any(pattern.strip() for pattern in request.patterns):
        raise UsageError("Query required: give a word to search for")
    finish_refresh(refresh)
    return _search(config, request, options, arguments.remote, tuple(arguments.owner or ()))


def _search(
    config: Config,
    request: Request,
    options: SearchOptions,
    names: list[str],
    owners: tuple[str, ...],
) -> Result:
    started = time.monotonic()
    searcher = team.make_searcher(config, names, owners, options)
    answer, finder = searcher.run(request)
    return Result(answer, finder, Coverage(), time.monotonic() - started, searcher)


def list_team(
    config: Config, arguments: SimpleNamespace, filters: Filters, limit: int, is_folded: bool
) -> list[ListedSession]:
    owners = tuple(arguments.owner or ())
    return _list(config, arguments.remote, owners, filters, limit, is_folded)


def _list(
    config: Config,
    name: str,
    owners: tuple[str, ...],
    filters: Filters,
    limit: int,
    is_folded: bool,
) -> list[ListedSession]:
    """Return the sessions of a server; folded, without sub-agents."""
    if is_folded:
        filters = filters._replace(subagents="exclude")
    found = team.list_rows(config, name, owners, filters, limit)
    return [
        ListedSession(row, short, machine=row.provenance.machine if row.provenance else "")
        for row, short in found
    ]


def show_team(
    config: Config, arguments: SimpleNamespace, ref: str, before: int, after: int
) -> Conversation:
    """Return a session of a server, or a turn with its neighbours."""
    limit = arguments.limit or 0
    return _conversation(team.show(config, arguments.remote, ref, before, after, limit))


def _conversation(found: TeamConversation) -> Conversation:
    turns = tuple(PlacedTurn(one.number, one.entry, one.turn) for one in found.turns)
    return Conversation(found.session, turns, found.named_turn, machine=found.owner)


def forget_team(arguments: SimpleNamespace, context: Context, typed: list[str]) -> int:
    """Delete one's own sessions from a server."""
    gone = team.forget(context.config(), arguments.remote, typed)
    if arguments.json:
        context.write(encode_document({"forgotten": gone}))
    else:
        context.write(f"{pluralize(len(gone), 'session')} forgotten on {arguments.remote}")
    return 0 if gone else 1
