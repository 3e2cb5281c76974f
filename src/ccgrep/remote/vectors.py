"""Exchanges vectors, so that a text is embedded on one machine only.

Vectors are derived, so a file that is lost, refused or deleted costs time only. A machine takes
those of the models that it uses. A file with a vector of a forgotten text is deleted, and machines
push again what they still have of it.
"""

import os
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct, field

from ccgrep.errors import LockedError, UntrustedError
from ccgrep.remote.local import LocalRemote, State
from ccgrep.remote.push_plan import choose_folded
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.storage import MissingFileError
from ccgrep.steps import OnStep, count_steps
from ccgrep.store import fsio
from ccgrep.store.lock import WriterLock
from ccgrep.store.store import Store

Models = dict[str, int]
"""The models that a machine uses, with the dimensions of their vectors."""


class VectorsReport(Struct):
    """How many vectors a pull added, and the files that it refused."""

    vectors: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


class SharedFiles(Struct):
    """The files of vectors that a head lists, by model, and those that a purge deletes."""

    listed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    bytes: int = 0


def list_segments(store_dir: str) -> tuple[str, ...]:
    """Return the names of all vector files of a store. It imports no numpy."""
    root = os.path.join(store_dir, "vectors")
    models = sorted(os.listdir(root)) if os.path.isdir(root) else []
    paths = [(model, os.path.join(root, model)) for model in models]
    found = [(model, os.listdir(path)) for model, path in paths if os.path.isdir(path)]
    return tuple(
        f"{model}/{name}"
        for model, names in found
        for name in sorted(names)
        if name.endswith(".vec")
    )


def take_vectors(
    local: LocalRemote,
    remote: Remote,
    store: Store,
    listing: Listing,
    find_models: Callable[[], Models],
    has_new_texts: bool,
    on_step: OnStep,
) -> VectorsReport:
    """Fetch the vectors of the heads that were read, and add those that this machine lacks.

    With `has_new_texts`, look again at known files: they may have vectors of these texts.
    """
    taken = VectorsReport()
    shared = _list_shared(local.read_state(), listing)
    unknown = set().union(*shared.values()) - local.list_vectors()
    models = find_models() if unknown or has_new_texts else {}
    for model in sorted(shared.keys() & models.keys()):
        names = shared[model] if has_new_texts else shared[model] & unknown
        # A process that is embedding holds the lock: the next pull takes the vectors.
        with suppress(LockedError):
            _take_model(local, remote, store, model, models[model], names, taken, on_step)
    return taken


def _list_shared(state: State, listing: Listing) -> dict[str, set[str]]:
    """Return the files that the heads list, by model."""
    shared: dict[str, set[str]] = {}
    heads = [seen.vectors for name, seen in state.heads.items() if name in listing.heads]
    if state.pushed is not None:
        heads.append(state.pushed.vectors)
    for head in heads:
        for model, names in head.items():
            shared.setdefault(model, set()).update(listing.vectors.keys() & set(names))
    return shared


def _take_model(
    local: LocalRemote,
    remote: Remote,
    store: Store,
    model: str,
    dimensions: int,
    names: set[str],
    taken: VectorsReport,
    on_step: OnStep,
) -> None:
    from ccgrep.semantic import vector_exchange as exchange  # noqa: PLC0415 - imports numpy

    directory = os.path.join(store.directory, "vectors", model)
    fsio.make_dir(directory)
    with WriterLock(os.path.join(directory, "lock"), 0.0):
        live = exchange.find_live_keys(store)  # Under the lock, which `forget` needs too.
        known = {name: exchange.load_keys(keys) for name, keys in local.read_vector_keys().items()}
        for name in count_steps(sorted(names), "files of vectors", len(names), on_step):
            if name in known and not exchange.find_wanted(directory, known[name], live).any():
                continue
            try:
                data = remote.read_vectors(name)
                shared = exchange.decode(data)
                taken.vectors += exchange.take(store, directory, shared, live, dimensions)
            except MissingFileError:
                continue  # Another machine has just deleted it.
            except (UntrustedError, ValueError) as error:
                path = f"vectors/{name}{remote.key.suffix}"
                taken.problems.append(f"the vectors in {path} are refused: {error}")
                continue
            taken.bytes += len(data)
            local.write_vector_keys(name, shared.keys.tobytes())


def push_vectors(
    local: LocalRemote,
    remote: Remote,
    store: Store,
    listing: Listing,
    state: State,
    is_purge: bool,
    on_step: OnStep,
) -> SharedFiles:
    """Write the vectors that no file of the remote has, and return what the head lists."""
    models = sorted({path.partition("/")[0] for path in list_segments(store.directory)})
    if not models and not (is_purge and listing.vectors):
        return SharedFiles()
    from ccgrep.semantic import vector_exchange as exchange  # noqa: PLC0415 - imports numpy

    files = SharedFiles(dead=_find_dead(local, remote, store, listing) if is_purge else set())
    known = {
        name: exchange.load_keys(keys)
        for name, keys in local.read_vector_keys().items()
        if name in listing.vectors and name not in files.dead
    }
    shared = _list_shared(state, listing)
    last = state.pushed.vectors if state.pushed is not None else {}
    for model in models:
        folded = choose_folded(listing.vectors, listing.vectors.keys() & set(last.get(model, ())))
        usable = {name: known[name] for name in shared.get(model, set()) - folded if name in known}
        directory = os.path.join(store.directory, "vectors", model)
        cover = exchange.cover(exchange.embedded_keys(directory), usable)
        names, done = cover.files, 0
        for keys, data in exchange.encode_parts(directory, cover.missing):
            on_step("texts with vectors", done, len(cover.missing))
            name = remote.write_vectors(data)
            local.write_vector_keys(name, keys.tobytes())
            files.bytes += len(data)
            names.append(name)
            done += len(keys)
        if names:
            files.listed[model] = tuple(sorted(set(names)))
    return files


def _find_dead(local: LocalRemote, remote: Remote, store: Store, listing: Listing) -> set[str]:
    """Return the files with a vector of a text that no turn has any more."""
    from ccgrep.semantic import vector_exchange as exchange  # noqa: PLC0415 - imports numpy

    live = exchange.find_live_keys(store)
    known = local.read_vector_keys()
    dead = set()
    for name in listing.vectors:
        try:
            if name in known:
                keys = exchange.load_keys(known[name])
            elif remote.key.can_read:
                keys = exchange.decode(remote.read_vectors(name)).keys
            else:
                continue  # Machines that can read it will judge.
        except MissingFileError:
            continue
        except (UntrustedError, ValueError):
            dead.add(name)  # Nobody can use it.
            continue
        if exchange.has_others(keys, live):
            dead.add(name)
    return dead
