"""Finds the project of a session or document without a working directory.

A plan is named after its session. Claude Code names a project folder after a directory, in a form
that cannot be decoded. The directory is in `sessions-index.json`, or in another session of the
folder. Otherwise the folder's name stands for the project.
"""

import os
from functools import cached_property

from msgspec.structs import replace

from ccgrep.sources.files import read_side_json
from ccgrep.sources.values import as_string, find_project
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row
from ccgrep.text import folder_name


def assign_projects(commit: Commit) -> None:
    """Set the project of each session that has turns but no working directory."""
    folders = _Folders(commit)
    for row in list(commit.rows()):
        if row.session.turns and not row.session.cwd and row.files:
            cwd = folders.find_directory(row)
            project = find_project(cwd) if cwd else _folder_of(row)
            session = replace(row.session, cwd=cwd, project=project)
            if session != row.session:
                commit.set_session(row, session)


def plan_slug(path: str) -> str:
    """Return the slug of the session that a plan belongs to, empty for other files.

    A sub-agent's plan is named after the session too.
    """
    folder, name = os.path.split(path)
    is_plan = os.path.basename(folder) == "plans" and name.endswith(".md")
    return name.removesuffix(".md").partition("-agent-")[0] if is_plan else ""


def _folder_of(row: Row) -> str:
    """Return the name of the project folder that a session was read from, if there is one."""
    if not row.files:
        return ""
    file = row.files[0]
    top, name, *_ = [*file.path.removeprefix(file.root + os.sep).split(os.sep), ""]
    return name if top == "projects" else ""


class _Folders:
    """The directories that project folders are named after."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._original_paths: dict[tuple[str, str], str] = {}

    def find_directory(self, row: Row) -> str:
        if slug := plan_slug(row.files[0].path):
            return self._directories_of_plans.get(slug, "")
        name = _folder_of(row)
        if not name:
            return ""
        return self._original_path(row.files[0].root, name) or self._directories.get(name, "")

    @cached_property
    def _directories(self) -> dict[str, str]:
        """The working directories of all sessions, by the name of their folder."""
        found = {row.session.cwd for row in self._commit.rows() if _folder_of(row)}
        return {folder_name(cwd): cwd for cwd in sorted(found)}

    @cached_property
    def _directories_of_plans(self) -> dict[str, str]:
        """The working directories of sessions, by the name of their plan."""
        sessions = (row.session for row in self._commit.rows())
        return {one.slug: one.cwd for one in sessions if one.slug and one.cwd}

    def _original_path(self, root: str, folder: str) -> str:
        key = root, folder
        if key not in self._original_paths:
            index = os.path.join(root, "projects", folder, "sessions-index.json")
            path = as_string(read_side_json(index, root).get("originalPath"))
            self._original_paths[key] = path if os.path.isabs(path) else ""
        return self._original_paths[key]
