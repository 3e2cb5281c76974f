"""Lists the agents that ccgrep knows, and what this machine and the store have of them."""

import os
from collections import Counter

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.sources.plugins import load_plugins
from ccgrep.sources.registry import SOURCES, Root, Source, find_source
from ccgrep.store.lifecycle import read_consistently


class SourceReport(Struct, frozen=True):
    """An agent. Without `roots`, its history is not on this machine.

    The sessions of one that `is_imported` come from `ccgrep import`.
    """

    name: str
    title: str
    roots: list[str]
    sessions: int
    turns: int
    form: str
    lacks: str
    resume: str
    is_plugin: bool = False
    is_imported: bool = False


class SourceList(Struct, frozen=True):
    sources: list[SourceReport]
    problems: list[str] = []


def list_sources(config: Config) -> SourceList:
    """Return every agent of the table, of plug-ins and of the store."""
    sessions, turns, projects = _count(config)
    plugins = load_plugins()
    added = {name: plugin.source for name, plugin in plugins.by_name.items()}
    roots = [*config.roots, *plugins.find_roots(config.plugin_variables)]
    roots += [root for root in projects if root not in roots and os.path.isdir(root.path)]
    known = {source.name: source for source in SOURCES} | added
    known |= {name: find_source(name) for name in sorted(sessions) if name not in known}
    reports = [
        _report(source, roots, sessions[name], turns[name], name in added)
        for name, source in known.items()
    ]
    return SourceList(reports, plugins.problems)


def _count(config: Config) -> tuple[Counter[str], Counter[str], list[Root]]:
    """Return the number of sessions and turns by source, and the projects with histories."""
    sessions: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    projects: dict[Root, None] = {}
    if not os.path.exists(os.path.join(config.store_dir, "FORMAT")):
        return sessions, turns, []
    for row in read_consistently(config.store_dir, lambda store: list(store.rows())):
        session = row.session
        if session.turns and session.kind != "document":
            sessions[session.source] += 1
            turns[session.source] += session.turns
            if session.source in config.project_sources and row.provenance is None:
                projects |= {Root(file.root, session.source): None for file in row.files}
    return sessions, turns, list(projects)


def _report(
    source: Source, roots: list[Root], sessions: int, turns: int, is_plugin: bool
) -> SourceReport:
    return SourceReport(
        source.name,
        source.title,
        [root.path for root in roots if root.source == source.name],
        sessions,
        turns,
        source.form,
        source.lacks,
        " ".join(source.resume),
        is_plugin,
        is_imported=not source.module,
    )
