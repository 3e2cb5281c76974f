"""Ingests transcripts, or builds the store again from scratch."""

import os
import time
from collections.abc import Callable

from msgspec.structs import replace

from ccgrep.config import Config
from ccgrep.fulltext.sync import sync
from ccgrep.ingest.carry_over import carry_over, carry_over_forgotten
from ccgrep.ingest.report import IndexReport, Progress
from ccgrep.refresh.update import WAS_OPEN, build, make_options, scan_all
from ccgrep.sources.plugins import is_any_installed
from ccgrep.store import fsio
from ccgrep.store.lifecycle import create_store, new_store_dir, swap
from ccgrep.store.lock import network_filesystem
from ccgrep.store.pruned import read_pruned, write_pruned
from ccgrep.store.store import Store


def index(
    config: Config,
    is_full: bool = False,
    wait_s: float = 10.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> IndexReport:
    """Ingest what changed since the last run, or every transcript if `is_full`."""
    store = create_store(config.store_dir)
    options = replace(make_options(config, wait_s), is_full=is_full)
    # Change detection knows nothing of a plug-in that was installed since the last ingest.
    options = replace(options, is_scanning=bool(config.plugin_variables) and is_any_installed())
    report = build(store, options, on_progress, warn)
    if store.was_exposed:
        report.troubles.append(WAS_OPEN)
    if kind := network_filesystem(config.store_dir):
        report.troubles.append(
            f"the store is on a network filesystem ({kind}), where locks may fail: "
            "set CCGREP_DIR to a directory on a local disk"
        )
    return report


def recreate(
    config: Config,
    wait_s: float = 10.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[IndexReport, str]:
    """Build a new store and set the old one aside; return the report and the old store's path.

    The new store keeps forgotten sessions forgotten, and copies sessions without a transcript.
    """
    from ccgrep.refresh.project_roots import find_project_roots  # noqa: PLC0415 - rare

    if not os.path.isdir(config.store_dir):
        return index(config, wait_s=wait_s, on_progress=on_progress, warn=warn), ""
    old = Store(config.store_dir)
    with old.lock(wait_s, warn):
        new_dir = new_store_dir(config.store_dir)
        if os.path.isdir(new_dir):
            fsio.remove_tree(new_dir)
        new = create_store(new_dir)
        carry_over_forgotten(new, old)
        options = make_options(config, wait_s)
        report = build(new, options, on_progress)
        with new.lock(wait_s):
            projects = find_project_roots(new.rows(), options)
            carry_over(new, old, scan_all(options, projects)[0])
            sync(new)
        _copy_remotes(config.store_dir, new_dir)
        if pruned := read_pruned(old):
            write_pruned(new, pruned)
        return report, swap(config.store_dir, time.time_ns() // 1_000_000)


def _copy_remotes(old_dir: str, new_dir: str) -> None:
    """Copy what the old store knows about remotes: keys, and the id of this machine."""
    remotes = os.path.join(old_dir, "remotes")
    for folder, _, names in os.walk(remotes):
        target = os.path.join(new_dir, os.path.relpath(folder, old_dir))
        fsio.make_dir(target)
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                fsio.publish(os.path.join(new_dir, "tmp"), os.path.join(target, name), file.read())
