"""Selects the sessions of a machine, and names machines and remotes."""

from collections.abc import Iterable

from ccgrep.config import Config
from ccgrep.errors import NotFoundError
from ccgrep.remote.local import list_names
from ccgrep.search.request import SessionIds
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.machines import read_machines
from ccgrep.text import one_line


def select_sessions(config: Config, names: Iterable[str]) -> SessionIds:
    """Return the sessions of machines; if this one is among them, as all but those of the others.

    This machine may add sessions while a search runs, other machines cannot.
    """
    machines = read_machines(config.store_dir)
    ids: set[str] = set()
    for name in names:
        found = machines.find(name)
        if not found:
            known = ", ".join(one_line(one) for one in list_names(config.store_dir, "machine"))
            raise NotFoundError(
                f"no machine is named '{one_line(name)}': "
                + (f"use one of {known}" if known else "run `ccgrep remote add` first")
            )
        ids |= found
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    origins = {row.session.id: row.provenance.machine if row.provenance else "" for row in rows}
    is_except = "" in ids
    chosen = (id for id, machine in origins.items() if (machine in ids) != is_except)
    return SessionIds(frozenset(chosen), is_except)
