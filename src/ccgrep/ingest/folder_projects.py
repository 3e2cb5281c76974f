"""Finds the project of a session or document without a working directory.

A plan is named after its session. Claude Code names a project folder after a directory, in a form
that cannot be decoded. The directory is in `sessions-index.json`, or in another session of the
folder. Otherwise the folder's name stands for the project.
"""

import os
from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from ccgrep.ingest.merge import Merge
from ccgrep.sources.files import read_side_json
from ccgrep.sources.values import as_string, find_project
from ccgrep.store.manifest import Row
from ccgrep.text import folder_name


def assign_projects(merge: Merge) -> None:
    """Set the project of each session that has turns but no working directory."""
    rows = merge.rows()
    folders = _Folders(rows)
    for row in rows:
        if row.session.turns and not row.session.cwd and row.files:
            cwd = folders.find_directory(row)
            project = find_project(cwd) if cwd else os.path.basename(_folder_of(row))
            session = replace(row.session, cwd=cwd, project=project)
            if session != row.session:
                merge.commit.set_session(row, session)


def plan_slug(path: str) -> str:
    """Return the slug of the session that a plan belongs to, empty for other files.

    A sub-agent's plan is named after the session too.
    """
    folder, name = os.path.split(path)
    is_plan = os.path.basename(folder) == "plans" and name.endswith(".md")
    return name.removesuffix(".md").partition("-agent-")[0] if is_plan else ""


def _folder_of(row: Row) -> str:
    """Return the path of the project folder that a session was read from, if there is one."""
    if not row.files:
        return ""
    file = row.files[0]
    before, projects, below = file.path[len(file.root) :].partition(f"{os.sep}projects{os.sep}")
    return file.root + before + projects + below.partition(os.sep)[0] if projects else ""


class _Folders:
    """The directories that project folders are named after."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._original_paths: dict[str, str] = {}

    def find_directory(self, row: Row) -> str:
        if slug := plan_slug(row.files[0].path):
            return self._directories_of_plans.get(slug, "")
        folder = _folder_of(row)
        if not folder:
            return ""
        name = os.path.basename(folder)
        return self._original_path(folder, row.files[0].root) or self._directories.get(name, "")

    @cached_property
    def _directories(self) -> dict[str, str]:
        """The working directories of all sessions, by the name of their folder."""
        found = {row.session.cwd for row in self._rows if _folder_of(row)}
        return {folder_name(cwd): cwd for cwd in sorted(found)}

    @cached_property
    def _directories_of_plans(self) -> dict[str, str]:
        """The working directories of sessions, by the name of their plan."""
        sessions = (row.session for row in self._rows)
        return {one.slug: one.cwd for one in sessions if one.slug and one.cwd}

    def _original_path(self, folder: str, root: str) -> str:
        if folder not in self._original_paths:
            index = os.path.join(folder, "sessions-index.json")
            path = as_string(read_side_json(index, root).get("originalPath"))
            self._original_paths[folder] = path if os.path.isabs(path) else ""
        return self._original_paths[folder]
