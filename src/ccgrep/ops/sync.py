"""Pushes to and pulls from remotes, and checks and cleans them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from msgspec import Struct, field

from ccgrep.config import Config
from ccgrep.errors import MissingObjectError, ModelError, RemoteError, UsageError
from ccgrep.fulltext.sync import is_synced
from ccgrep.fulltext.sync import sync as sync_index
from ccgrep.refresh.collect import collect_garbage
from ccgrep.remote.check import RemoteCheck, check_remote
from ccgrep.remote.collect import CollectReport, delete_unlisted
from ccgrep.remote.local import LocalRemote, find_remote, list_remotes
from ccgrep.remote.pull import Pull, PullReport
from ccgrep.remote.push import Push, PushReport
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.tombstones import apply_tombstones, read_tombstones
from ccgrep.remote.vectors import take_vectors
from ccgrep.steps import OnStep, ignore_steps
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.lock import lock_vectors
from ccgrep.store.machines import read_machines
from ccgrep.store.store import Store

_DAY_S = 86_400.0


class SyncReport(Struct):
    """What was pulled, pushed and forgotten; `None` for what was not asked."""

    remote: str
    pulled: PullReport | None = None
    pushed: PushReport | None = None
    forgotten: int = 0
    problems: list[str] = field(default_factory=list)


class SyncOptions(Struct, frozen=True):
    """What to do with a remote, and how."""

    is_pull: bool = True
    is_push: bool = True
    is_full: bool = False
    is_dry_run: bool = False
    wait_s: float = 10.0
    limit_rate: int | None = None  # bytes per second


def sync(
    config: Config,
    name: str | None,
    options: SyncOptions,
    on_step: OnStep = ignore_steps,
) -> list[SyncReport]:
    """Pull from a remote and push to it; without a name, all of them.

    If one of several cannot be reached, it is a problem of its report, and the others follow.
    """
    locals_ = [find_remote(config.store_dir, name)] if name else list_remotes(config.store_dir)
    chosen = locals_ or [find_remote(config.store_dir, name)]
    if len(chosen) == 1:
        return [_sync(config, one, options, on_step) for one in chosen if not one.is_team]
    return [_try_sync(config, one, options, on_step) for one in chosen if not one.is_team]


def team_names(config: Config, name: str | None) -> list[str]:
    """Return the teams' servers among the remotes; with a name, that one if it is a server."""
    named = [find_remote(config.store_dir, name)] if name else list_remotes(config.store_dir)
    return [local.name for local in named if local.is_team]


def _try_sync(
    config: Config, local: LocalRemote, options: SyncOptions, on_step: OnStep
) -> SyncReport:
    try:
        return _sync(config, local, options, on_step)
    except RemoteError as error:
        return SyncReport(local.name, problems=[f"{local.name}: {error}"])


def _sync(config: Config, local: LocalRemote, options: SyncOptions, on_step: OnStep) -> SyncReport:
    report = SyncReport(local.name)
    store = create_store(config.store_dir)
    with local.lock(options.wait_s):
        remote = local.connect(config.remote_variables, options.limit_rate)
        listing = remote.list()
        local.check(remote, listing)
        if not options.is_dry_run:
            report.forgotten = _forget(config, local, remote, listing, store, report, options)
        # On a machine with the public half of the key, a sync is a push.
        if options.is_pull and (remote.key.can_read or not options.is_push):
            _pull(config, local, remote, listing, store, report, options, on_step)
        if options.is_push:
            report.pushed = _push(config, local, remote, listing, options, on_step)
    return report


def _forget(
    config: Config,
    local: LocalRemote,
    remote: Remote,
    listing: Listing,
    store: Store,
    report: SyncReport,
    options: SyncOptions,
) -> int:
    """Forget what other machines have forgotten, and return the number of sessions."""
    state = local.read_state()
    keys = read_tombstones(remote, listing, state, store, report.problems.append)
    count = 0
    if keys or store.snapshot().must_collect:
        with _lock_all(config, store, options.wait_s):
            count = apply_tombstones(store, keys, _now_ms())
            if store.snapshot().must_collect:
                collect_garbage(store)
    if keys:
        state.applied = sorted({*state.applied, *keys.values()})
        local.write_state(state)
    return count


def _pull(
    config: Config,
    local: LocalRemote,
    remote: Remote,
    listing: Listing,
    store: Store,
    report: SyncReport,
    options: SyncOptions,
    on_step: OnStep,
) -> None:
    machines = read_machines(config.store_dir)
    pull = Pull(local, remote, store, machines, _now_ms(), on_step)
    pull.run(listing, lambda: store.lock(options.wait_s))
    # A pull that was killed may have merged sessions without their words.
    has_new_texts = pull.report.is_changed or not is_synced(store)
    if has_new_texts:
        with store.lock(options.wait_s):
            sync_index(store, on_step=on_step)
    if config.embed != "never":
        find_models = partial(_find_models, config)
        taken = take_vectors(local, remote, store, listing, find_models, has_new_texts, on_step)
        pull.report.vectors = taken.vectors
        pull.report.bytes += taken.bytes
        pull.report.problems += taken.problems
    report.pulled = pull.report
    report.problems += pull.report.problems


def _find_models(config: Config) -> dict[str, int]:
    """Return the models that embed texts here, with their dimensions."""
    from ccgrep.semantic import configured_model, multilingual  # noqa: PLC0415 - imports numpy

    try:
        models = [configured_model.find_unverified_model(config), multilingual.find()]
    except ModelError:
        return {}
    return {model.id: model.dimensions for model in models if model is not None}


def _push(
    config: Config,
    local: LocalRemote,
    remote: Remote,
    listing: Listing,
    options: SyncOptions,
    on_step: OnStep,
) -> PushReport:
    """Push, again if a concurrent `gc` deleted an object that was to be pushed."""
    for is_last in (False, True):
        store = open_store(config.store_dir)
        machines = read_machines(config.store_dir)
        push = Push(local, remote, store, machines, _now_ms(), on_step)
        head = store.head()
        try:
            push.run(listing, options.is_full, options.is_dry_run)
        except MissingObjectError:
            if is_last or store.head() == head:
                raise
            listing = remote.list()
        else:
            break
    return push.report


def remove_machine(config: Config, name: str | None, machine: str, wait_s: float = 10.0) -> None:
    """Delete the head of a machine that is gone for good. This machine has its sessions then.

    `machine` is a name or an id. If that machine pushes again, it is back.
    """
    local = find_remote(config.store_dir, name)
    report = _sync(config, local, SyncOptions(wait_s=wait_s), ignore_steps)
    with local.lock(wait_s):
        remote, state = local.open(config.remote_variables), local.read_state()
        listing, machines = remote.list(), read_machines(config.store_dir)
        others = {seen.machine: head for head, seen in state.heads.items() if head in listing.heads}
        found = machines.find(machine) & others.keys()
        if not found:
            names = ", ".join(sorted(map(machines.name, others)))
            advice = f"use one of {names}" if names else "no other machine has pushed to it"
            raise UsageError(f"no other machine of '{local.name}' is named '{machine}': {advice}")
        if len(found) > 1:
            ids = ", ".join(sorted(found))
            raise UsageError(f"several machines are named '{machine}': use one of {ids}")
        head = others[found.pop()]
        seen = state.heads[head]
        is_changed = seen.tag != listing.heads[head].tag
        if is_changed and remote.read_head(head).sequence > seen.sequence:
            raise RemoteError(f"'{machine}' has pushed meanwhile, so it is not gone")
        if not seen.is_merged:
            problems = "".join(f"{problem}\n" for problem in report.problems)
            raise RemoteError(f"{problems}some sessions of '{machine}' could not be read")
        remote.delete_head(head)


def gc_remote(
    config: Config,
    name: str | None,
    grace_days: float,
    wait_s: float = 10.0,
    on_step: OnStep = ignore_steps,
) -> tuple[SyncReport, CollectReport]:
    """Merge all heads, rewrite packs that are mostly garbage, and delete those no head lists."""
    local = find_remote(config.store_dir, name)
    options = SyncOptions(is_full=True, wait_s=wait_s)
    report = _sync(config, local, options, on_step)
    with local.lock(wait_s):
        remote = local.open(config.remote_variables)
        before = time.time() - grace_days * _DAY_S
        return report, delete_unlisted(remote, remote.list(), before)


def fsck_remote(
    config: Config, name: str | None, reads_data: bool = False, on_step: OnStep = ignore_steps
) -> RemoteCheck:
    """Check the heads and packs of a remote."""
    remote = find_remote(config.store_dir, name).open(config.remote_variables)
    return check_remote(remote, reads_data, on_step)


@contextmanager
def _lock_all(config: Config, store: Store, wait_s: float) -> Iterator[None]:
    with store.lock(wait_s), lock_vectors(config.store_dir, wait_s):
        yield


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
