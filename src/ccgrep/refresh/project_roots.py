"""Finds the histories that an agent keeps in the directories of projects, as Aider does.

The projects are those of the sessions in the store. A history counts as a root of its own: nothing
else in the project is listed.
"""

import os
from collections.abc import Iterable

from ccgrep.ingest.report import Options
from ccgrep.sources.registry import Root, find_roots_in_projects
from ccgrep.store.manifest import Row

_MAX_PROJECTS = 1000  # Each one costs one stat whenever the roots are scanned.


def find_project_roots(rows: Iterable[Row], options: Options) -> list[Root]:
    """Return the projects of sessions that have a history, and those whose history is stored."""
    if not options.project_sources:
        return []
    rows = sorted(rows, key=lambda row: row.session.ended or 0, reverse=True)
    projects = [row.session.project for row in rows if row.provenance is None]
    found = select_roots(projects, options)
    for row in rows:
        if row.session.source in options.project_sources:
            stored = [Root(file.root, row.session.source) for file in row.files]
            found += [root for root in stored if os.path.isdir(root.path)]
    return [root for root in dict.fromkeys(found) if root not in options.roots]


def select_roots(projects: Iterable[str], options: Options) -> list[Root]:
    """Return those of the first projects that have a history."""
    paths = [*dict.fromkeys(filter(None, projects))]
    return find_roots_in_projects(paths[:_MAX_PROJECTS], options.project_sources)
