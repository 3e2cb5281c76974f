"""Selects the sessions of a machine, and names machines and remotes."""

from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.remote.local import list_names
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.machines import read_machines
from ccgrep.text import one_line


def select_sessions(config: Config, name: str) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the sessions of a machine, or None and those of the others for this machine.

    This machine may add sessions while a search runs, other machines cannot.
    """
    machines = read_machines(config.store_dir)
    ids = machines.find(name)
    if not ids:
        known = ", ".join(one_line(one) for one in list_names(config.store_dir, "machine"))
        raise NotFoundError(
            f"no machine is named '{one_line(name)}': "
            + (f"use one of {known}" if known else "run `ccgrep remote add` first")
        )
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    origins = {row.session.id: row.provenance.machine if row.provenance else "" for row in rows}
    if "" in ids:
        return None, frozenset(id for id, machine in origins.items() if machine not in ids)
    return frozenset(id for id, machine in origins.items() if machine in ids), frozenset()
