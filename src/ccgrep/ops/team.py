"""Searches and reads teams' servers, and pushes to them."""

from __future__ import annotations

import os
from collections.abc import Callable

from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.refs import short_ids
from ccgrep.remote.local import LocalRemote, RemoteConfig, check_name, find_remote
from ccgrep.search.index_opener import open_index, repair_index
from ccgrep.search.searcher import Searcher, SearchOptions
from ccgrep.store.lifecycle import create_store
from ccgrep.store.manifest import NO_SNAPSHOT, Provenance, Row
from ccgrep.team import admin, history
from ccgrep.team.address import Address, hide_password, parse_address
from ccgrep.team.merged import MergedSearcher
from ccgrep.team.push import TeamPush, TeamReport
from ccgrep.team.searcher import TeamSearcher
from ccgrep.team.server import Server

if TYPE_CHECKING:
    from ccgrep.search.request import Filters

LOCAL = "local"
"""The name that stands for this machine's own store."""


def add(config: Config, name: str, url: str, projects: tuple[str, ...]) -> str:
    """Configure a team's server, and return its address without the password."""
    check_name(name)
    if name == LOCAL:
        raise UsageError(f"'{LOCAL}' stands for this machine's store: choose another name")
    address = parse_address(url)
    store = create_store(config.store_dir)
    local = LocalRemote(store.directory, name)
    if os.path.exists(local.path("config")):
        raise UsageError(f"there is a remote '{name}' already: run `ccgrep remote remove {name}`")
    Server(address, config.team_timeout_s or None).call("list", {"limit": 1, "ids_only": True})
    local.create_team(
        RemoteConfig(address.url, is_encrypted=False, projects=projects), address.password
    )
    return hide_password(address.url)


def make_searcher(
    config: Config, names: list[str], owners: tuple[str, ...], options: SearchOptions
) -> Searcher:
    """Return a searcher of the named places."""
    found: list[Searcher] = []
    for name in dict.fromkeys(names):
        if name == LOCAL:
            index = open_index(config.store_dir) or repair_index(config.store_dir, options.warn)
            found.append(Searcher(config, index, options))
        else:
            found.append(TeamSearcher(config, _open(config, name), owners, options))
    return found[0] if len(found) == 1 else MergedSearcher(config, found, options.warn)


def list_rows(
    config: Config, name: str, owners: tuple[str, ...], filters: Filters, limit: int
) -> list[tuple[Row, str]]:
    """Return the sessions of a server as rows of a store, each with its shortest id."""
    found = history.list_sessions(_open(config, name), filters, owners, limit)
    short = short_ids(one.session.id for one in found)
    return [(_row(one), short[one.session.id]) for one in found]


def _row(one: history.TeamSession) -> Row:
    """Return a row whose machine is the person who pushed the session."""
    provenance = Provenance(one.owner, one.session.id, 0)
    return Row(one.session, NO_SNAPSHOT, provenance=provenance)


def show(
    config: Config, name: str, ref: str, before: int = 0, after: int = 0, limit: int = 0
) -> history.TeamConversation:
    return history.read_conversation(_open(config, name), ref, before, after, limit)


def show_range(
    config: Config, name: str, session_id: str, start: int, count: int
) -> history.TeamConversation:
    return history.read_range(_open(config, name), session_id, start, count)


def stats(
    config: Config, name: str, owners: tuple[str, ...], filters: Filters
) -> history.TeamStats:
    return history.count(_open(config, name), filters, owners)


def push(
    config: Config,
    name: str,
    is_dry_run: bool,
    wait_s: float,
    on_progress: Callable[[int, int], None],
) -> TeamReport:
    """Push the sessions of the remote's projects; with a dry run, only count them."""
    local = find_remote(config.store_dir, name)
    store = create_store(config.store_dir)
    projects = local.read_config().projects
    with local.lock(wait_s):
        server = None if is_dry_run else Server(_address(local), None)
        push = TeamPush(store, server, local.path("pushed"), local.write_pushed, on_progress)
        return push.run(projects)


def forget(config: Config, name: str, ids: list[str]) -> list[str]:
    """Delete one's own sessions from the server for good, and return those that it had."""
    server = _open(config, name)
    named = [history.read_conversation(server, id, limit=1).session.id for id in ids]
    (result,) = server.call("forget", {"sessions": named})
    return [str(id) for id in result["sessions"]]


def open_admin(config: Config, place: str) -> Server:
    """Return a server, given by its address or by the name of a remote, without a time limit."""
    if "://" in place:
        return admin.open_admin(place)
    return Server(_address(find_remote(config.store_dir, place)), None)


def _open(config: Config, name: str) -> Server:
    local = find_remote(config.store_dir, name)
    if not local.is_team:
        raise UsageError(
            f"'{name}' is not a team's server: run `ccgrep pull {name}` and search without -R"
        )
    return Server(_address(local), config.team_timeout_s or None)


def _address(local: LocalRemote) -> Address:
    return Address(local.read_config().url, local.read_password())
