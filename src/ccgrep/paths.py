"""Paths in transcripts, which may come from Windows: drive letters, `\\\\server\\share`, `\\`.

ccgrep shows such paths as they are, and compares them with forward slashes and regardless of case.
Start-up imports this module, so it stays light.
"""


def is_windows_path(path: str) -> bool:
    """Return whether a path begins with a drive letter or a server name, as on Windows."""
    has_drive = path[1:2] == ":" and path[:1].isalpha() and path[2:3] in ("", "/", "\\")
    return has_drive or path.startswith("\\\\")


def to_slashes(path: str) -> str:
    """Return a Windows path with forward slashes, and any other path as it is."""
    return path.replace("\\", "/") if is_windows_path(path) else path


def join_path(directory: str, path: str) -> str:
    """Return `path` below `directory`, or alone if it is absolute; normalized, with slashes."""
    if is_windows_path(directory) or is_windows_path(path):
        import ntpath  # noqa: PLC0415 - rarely needed

        return ntpath.normpath(ntpath.join(directory, path)).replace("\\", "/")
    import posixpath  # noqa: PLC0415

    return posixpath.normpath(posixpath.join(directory, path))


def ends_with(path: str, suffix: str) -> bool:
    """Return whether a path with slashes is `suffix` or ends in it as whole components."""
    if is_windows_path(path) or path.startswith("//"):
        path, suffix = path.lower(), suffix.replace("\\", "/").lower()
    return path == suffix or (not suffix.startswith("/") and path.endswith(f"/{suffix}"))


def last_name(path: str) -> str:
    """Return the last component of a path."""
    return to_slashes(path).rstrip("/").rpartition("/")[2]


def move_below(path: str, root: str, new_root: str) -> str | None:
    """Return a path below `root` at the same place below `new_root`, or None if it is outside.

    The path comes from another machine, so it may be of another kind, or try to leave the root.
    """
    path, root = to_slashes(path), to_slashes(root).rstrip("/")
    below = path.removeprefix(f"{root}/")
    is_outside = below == path or any(part in ("", ".", "..") for part in below.split("/"))
    return None if is_outside else f"{new_root.rstrip('/')}/{below}"
