"""The machines that sessions came from: `remotes/machines` in the store.

It names this machine and every other one that a pull has seen. A search with `--machine` reads it,
so it imports nothing of the remotes.
"""

import os
from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ccgrep.errors import CorruptError
from ccgrep.store import fsio
from ccgrep.store.manifest import Row


class Machines(Struct, frozen=True):
    """The id of this machine, or "" if there never was a remote, and the names of all by id.

    `repositories` has, for each machine, the git repositories of its projects.
    """

    own: str = ""
    names: dict[str, str] = {}
    repositories: dict[str, dict[str, str]] = {}

    def name(self, id: str) -> str:
        """Return the name of a machine; "" is this one."""
        id = id or self.own
        return self.names.get(id, id)

    def find(self, typed: str) -> set[str]:
        """Return the ids of the machines with that name or id; "" is this one."""
        ids = {id for id, name in self.names.items() if typed in (id, name)}
        return {"" if id == self.own else id for id in ids}

    def repository(self, row: Row) -> str:
        """Return the git repository of a session's project, or "" if it is not known."""
        machine = row.provenance.machine if row.provenance else self.own
        return self.repositories.get(machine, {}).get(row.session.project, "")

    def keep_projects(self, rows: Iterable[Row]) -> "Machines":
        """Return these machines without the projects that no session has any more."""
        kept: dict[str, set[str]] = {}
        for row in rows:
            machine = row.provenance.machine if row.provenance else self.own
            kept.setdefault(machine, set()).add(row.session.project)
        repositories = {
            machine: {path: url for path, url in projects.items() if path in kept.get(machine, ())}
            for machine, projects in self.repositories.items()
        }
        return replace(self, repositories={id: one for id, one in repositories.items() if one})


def name_machine(machines: Machines, row: Row | None) -> str:
    """Return the name of the machine that a session came from, or "" if it is not known."""
    return machines.name(row.provenance.machine if row is not None and row.provenance else "")


def read_machines(store_dir: str) -> Machines:
    path = machines_path(store_dir)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Machines)
    except FileNotFoundError:
        return Machines()
    except msgspec.MsgspecError as error:
        raise CorruptError(
            f"{path} is damaged: delete it, then run "
            "`ccgrep remote rename-machine NAME --new-id` and `ccgrep pull`"
        ) from error


def write_machines(store_dir: str, machines: Machines) -> None:
    fsio.make_dir(os.path.dirname(machines_path(store_dir)))
    tmp_dir = os.path.join(store_dir, "tmp")
    fsio.make_dir(tmp_dir)
    fsio.publish(tmp_dir, machines_path(store_dir), msgspec.json.encode(machines))


def drop_projects(store_dir: str, rows: Iterable[Row]) -> None:
    """Delete the paths and repositories of projects that no session has any more."""
    machines = read_machines(store_dir)
    if machines.repositories and (kept := machines.keep_projects(rows)) != machines:
        write_machines(store_dir, kept)


def make_machine(store_dir: str, name: str) -> Machines:
    """Give this machine a new id and a name, and return all machines."""
    machines = read_machines(store_dir)
    own = os.urandom(8).hex()
    machines = replace(machines, own=own, names={**machines.names, own: name})
    write_machines(store_dir, machines)
    return machines


def machines_path(store_dir: str) -> str:
    return os.path.join(store_dir, "remotes", "machines")
