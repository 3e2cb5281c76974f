"""Recognizes checkouts of the same git repository on different machines, without running git.

A head has, for each project, the address of its git remote without what differs between machines:
user, password, protocol, port and the suffix `.git`.
"""

import os
from collections.abc import Iterable

from ccgrep.lazy_re import compile_pattern
from ccgrep.paths import to_slashes

_MAX_BYTES = 1 << 20
_URL = r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@]*@)?([^/:@]+)(?::[0-9]*)?/+(.+)"
_SCP = r"(?:[^/@:]+@)?([^/@:]{2,}):(?!//)/*(.+)"


def normalize_url(url: str) -> str:
    """Return `host/path` of a git remote, or "" if it names no other host."""
    url = url.strip()
    match = compile_pattern(_URL).fullmatch(url) or compile_pattern(_SCP).fullmatch(url)
    if match is None or url.startswith("file:"):
        return ""
    host, path = match.groups()
    return f"{host.lower()}/{path.rstrip('/').removesuffix('.git').rstrip('/')}"


def read_repository(directory: str) -> str:
    """Return the normalized address of the remote of a checkout, or "" if it has none.

    The remote is `origin`, else the first one.
    """
    git_dir = _find_git_dir(directory)
    remotes = _read_remotes(os.path.join(git_dir, "config")) if git_dir else {}
    return normalize_url(remotes.get("origin") or next(iter(remotes.values()), ""))


def find_checkout(repository: str, directories: Iterable[str]) -> str:
    """Return the first of the directories that is a checkout of a repository, or ""."""
    return next((path for path in directories if read_repository(path) == repository), "")


def move_to_checkout(path: str, project: str, checkout: str) -> str:
    """Return the directory of a checkout that `path` is in another one, else the whole checkout."""
    path, project = to_slashes(path), to_slashes(project).rstrip("/")
    parts = path.removeprefix(f"{project}/").split("/") if path.startswith(f"{project}/") else []
    moved = os.path.join(checkout, *parts)
    return moved if ".." not in parts and os.path.isdir(moved) else checkout


def _find_git_dir(directory: str) -> str:
    """Return the directory with the configuration: worktrees share that of their repository."""
    path = os.path.join(directory, ".git")
    if not os.path.isabs(directory):
        return ""
    if os.path.isdir(path):
        return path
    target = _read_text(path).removeprefix("gitdir:").strip()
    if not target:
        return ""
    git_dir = os.path.join(directory, target)
    common = _read_text(os.path.join(git_dir, "commondir")).strip()
    return os.path.join(git_dir, common) if common else git_dir


def _read_remotes(path: str) -> dict[str, str]:
    """Return the addresses in a git configuration, by the names of the remotes."""
    remotes: dict[str, str] = {}
    section = None
    for line in _read_text(path).splitlines():
        text = line.strip()
        if text.startswith("["):
            section = compile_pattern(r'\[remote "(.*)"\].*').fullmatch(text)
            continue
        key, _, value = text.partition("=")
        if section is not None and key.strip().lower() == "url":
            remotes.setdefault(section[1], value.strip().strip('"'))
    return remotes


def _read_text(path: str) -> str:
    """Return the text of a file, or "" if it is none that git writes."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _MAX_BYTES:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_BYTES)
    except (OSError, ValueError):
        return ""
