"""Adds, describes and removes remotes, and moves their keys between machines."""

import os
import shlex
from collections.abc import Callable
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.config import Config
from ccgrep.errors import RemoteError, UntrustedError, UsageError
from ccgrep.remote import ssh_storage
from ccgrep.remote.keys import (
    NO_KEY,
    Key,
    format_key,
    is_locked,
    lock_text,
    make_key,
    parse_key,
    unlock_text,
)
from ccgrep.remote.local import (
    LocalRemote,
    RemoteConfig,
    State,
    check_name,
    find_remote,
    is_team_url,
    list_remotes,
    open_wrapped,
)
from ccgrep.remote.remote import Listing, Remote
from ccgrep.store import fsio
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.machines import Machines, make_machine, read_machines, write_machines
from ccgrep.text import one_line


def serve(directory: str, requests: IO[bytes], replies: IO[bytes]) -> None:
    """Write and read files of a directory, for a machine at the other end of ssh."""
    ssh_storage.serve(os.path.abspath(os.path.expanduser(directory)), requests, replies)


class RemoteInfo(Struct, frozen=True):
    """A configured remote. `key` is "none" without encryption, and "team" for a team's server.

    `projects` are those that are pushed to a team's server.
    """

    name: str
    url: str
    key: str
    is_push_only: bool
    projects: tuple[str, ...] = ()


class MachineStatus(Struct, frozen=True):
    """A machine as its last head describes it. `missing_forgets` counts unapplied tombstones."""

    id: str
    name: str
    is_this: bool
    pushed: int | None
    sessions: int | None
    missing_forgets: int


class RemoteStatus(Struct, frozen=True):
    """A remote and its machines. `problems` are the heads that cannot be read."""

    remote: RemoteInfo
    packs: int
    bytes: int
    forgotten: int
    machines: list[MachineStatus]
    problems: list[str]


class AddReport(Struct, frozen=True):
    """The result of `remote add`: `is_new` if the remote was empty before."""

    info: RemoteInfo
    machine: str
    is_new: bool


def is_team(url: str) -> bool:
    """Return whether an address is that of a team's server."""
    return is_team_url(url)


def add_remote(
    config: Config,
    name: str,
    url: str,
    machine: str,
    endpoint: str = "",
    key: Key | None = None,
    is_encrypted: bool = True,
    ssh_command: str = "",
) -> AddReport:
    """Configure a remote, and make the storage one if it is empty.

    `key` is that of an existing remote; by default a new one is made.
    """
    check_name(name)
    _check_machine_name(machine)
    store = create_store(config.store_dir)
    local = LocalRemote(store.directory, name)
    if os.path.exists(local.path("config")):
        raise UsageError(f"there is a remote '{name}' already: run `ccgrep remote remove {name}`")
    for other in list_remotes(store.directory):
        known = other.read_config()
        if (known.url, known.endpoint) == (url, endpoint):
            raise UsageError(f"the remote '{other.name}' has this address already")
    remote_config = RemoteConfig(url, endpoint, ssh_command, is_encrypted)
    storage = open_wrapped(remote_config, config.remote_variables)
    if not is_encrypted:
        key = NO_KEY
    elif key is None:
        key = _unfinished_key(local) or make_key()
        fsio.make_dir(local.directory)
        fsio.make_dir(local.tmp_dir)
        local.write_key(key)  # Before the remote depends on it.
    is_new = Remote(storage, key).create()
    machines = read_machines(store.directory)
    if not machines.own:
        machines = make_machine(store.directory, machine)
    local.create(remote_config, key)
    return AddReport(_describe(local), machines.name(""), is_new)


def _unfinished_key(local: LocalRemote) -> Key | None:
    """Return the key that an interrupted `remote add` has made."""
    try:
        key = local.read_key()
    except FileNotFoundError:
        return None
    return key if key.is_encrypted else None


def list_all(config: Config) -> list[RemoteInfo]:
    return [_describe(local) for local in list_remotes(config.store_dir)]


def _describe(local: LocalRemote) -> RemoteInfo:
    config, key = local.read_config(), local.read_key()
    if local.is_team:
        return RemoteInfo(local.name, config.url, "team", False, config.projects)
    return RemoteInfo(
        local.name, config.url, key.id if key.is_encrypted else "none", not key.can_read
    )


def status(config: Config, name: str | None = None) -> RemoteStatus:
    """Return the machines of a remote, as of the last pull or now if they changed since."""
    local = find_remote(config.store_dir, name)
    machines = read_machines(config.store_dir)
    remote, state = local.open(config.remote_variables), local.read_state()
    listing = remote.list()
    tombstones = set(listing.tombstones)
    found: list[MachineStatus] = []
    problems: list[str] = []
    for head_name, file in listing.heads.items():
        seen = state.heads.get(head_name)
        if remote.key.can_read and (seen is None or seen.tag != file.tag):
            try:
                head = remote.read_head(head_name)
            except UntrustedError as error:
                problems.append(str(error))
                continue
            values = (head.machine, head.name, head.created, len(head.sessions), head.applied)
        elif seen is not None:
            machine_name = machines.name(seen.machine)
            values = (seen.machine, machine_name, seen.created, seen.sessions, seen.applied)
        else:
            continue
        id, title, created, sessions, applied = values
        is_this = id == machines.own
        missing = len(tombstones - set(applied))
        found.append(MachineStatus(id, title, is_this, created, sessions, missing))
    if machines.own not in {one.id for one in found}:
        found.append(_describe_own(local, machines, state, remote, listing))
    found.sort(key=lambda one: (not one.is_this, one.name, one.id))
    total = sum(file.size for file in listing.packs.values())
    info = _describe(local)
    return RemoteStatus(info, len(listing.packs), total, len(tombstones), found, problems)


def _describe_own(
    local: LocalRemote, machines: Machines, state: State, remote: Remote, listing: Listing
) -> MachineStatus:
    """Describe this machine without its head, which is missing or cannot be read here."""
    missing, pushed, sessions = set(listing.tombstones), None, None
    if state.pushed is not None and remote.head_name(machines.own) in listing.heads:
        missing -= {*state.pushed.applied}
        pushed, sessions = state.pushed.created, len(local.read_shared())
    name = machines.name("")
    return MachineStatus(machines.own, name, True, pushed, sessions, len(missing))


def remove_remote(config: Config, name: str) -> None:
    """Delete the address and the key of a remote. The remote itself stays.

    The rest stays too, so that the same remote can be added again. Its names mean nothing to a
    remote with another key. Without encryption, names do not tell remotes apart.
    """
    local = find_remote(config.store_dir, name)
    if local.is_team or not local.read_config().is_encrypted:
        fsio.remove_tree(local.directory)
    else:
        local.remove_access()


def rename_machine(config: Config, name: str, is_new_id: bool = False) -> Machines:
    """Give this machine another name, and with `is_new_id` another id."""
    _check_machine_name(name)
    open_store(config.store_dir)
    machines = read_machines(config.store_dir)
    if is_new_id or not machines.own:
        return make_machine(config.store_dir, name)
    machines = replace(machines, names={**machines.names, machines.own: name})
    write_machines(config.store_dir, machines)
    return machines


def _check_machine_name(name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise UsageError(f"invalid name '{one_line(name)}' for a machine: use letters and digits")


def describe_key(config: Config, name: str | None) -> list[str]:
    """Return the id and the public half of a key, which reveal nothing."""
    key = _find_key(config, name)
    return [f"id {key.id}", f"recipient {key.recipient}"]


def _find_key(config: Config, name: str | None) -> Key:
    local = find_remote(config.store_dir, name)
    key = local.read_key()
    if not key.is_encrypted:
        raise UsageError(f"the remote '{local.name}' is not encrypted: it has no key")
    return key


def join_command(config: Config, name: str | None) -> str:
    """Return the command that adds a remote on another machine, with FILE for the key."""
    local = find_remote(config.store_dir, name)
    remote = local.read_config()
    endpoint = ["--endpoint", remote.endpoint] if remote.endpoint else []
    return shlex.join(
        ["ccgrep", "remote", "add", local.name, remote.url, *endpoint, "--key", "FILE"]
    )


def is_push_only(config: Config, name: str | None) -> bool:
    return _describe(find_remote(config.store_dir, name)).is_push_only


def export_key(
    config: Config, name: str | None, is_public: bool = False, passphrase: str | None = None
) -> str:
    """Return the key of a remote as text, locked with the passphrase if there is one."""
    text = format_key(_find_key(config, name), is_public)
    return lock_text(text, passphrase) if passphrase is not None else text


def read_exported_key(text: str, ask_passphrase: Callable[[], str]) -> Key:
    """Return the key in an exported text."""
    return parse_key(unlock_text(text, ask_passphrase()) if is_locked(text) else text)


def import_key(config: Config, name: str | None, key: Key) -> RemoteInfo:
    """Replace the key of a remote, after a check that it is the right one."""
    local = find_remote(config.store_dir, name)
    if not local.read_config().is_encrypted:
        raise UsageError(f"the remote '{local.name}' is not encrypted: it needs no key")
    remote = Remote(open_wrapped(local.read_config(), config.remote_variables), key)
    remote.check()
    if key.id != local.read_key().id:
        raise RemoteError("this is the key of another remote")
    local.write_key(key)
    return _describe(local)
