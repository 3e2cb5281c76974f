"""Edit the settings files of other programs.

An edit changes one place and keeps the rest of the file. It refuses a file that it cannot parse or
would not reproduce exactly. Writes are atomic, and a backup of the old file is kept next to it. A
removal restores the backup if nobody else changed the settings, and deletes it.
"""

import contextlib
import json
import os
import re
import stat
import time
import tomllib
from collections.abc import Callable, Iterator
from decimal import Decimal
from difflib import unified_diff
from itertools import count
from typing import Any, NamedTuple, NoReturn

from ccgrep.errors import UsageError
from ccgrep.ops.save_file import write_file
from ccgrep.text import escape, one_line

_BACKUP = ".ccgrep-backup"
_INDENT = re.compile(r"\A\s*\{\r?\n([ \t]+)\"")
BLOCK = re.compile(r"# >>> ccgrep >>>[^\n]*\n.*?# <<< ccgrep <<<\n?", re.DOTALL)
"""A block that `mark_block` returned, whatever its comment says."""


class Edit(NamedTuple):
    """A file's text before and after a change. None means that the file does not exist."""

    path: str
    before: str | None
    after: str | None
    is_own: bool = False  # the whole file belongs to ccgrep


def read_text(path: str, errors: str = "strict") -> str | None:
    """Return the text of a file with its line ends, or None if the file does not exist."""
    try:
        with open(path, encoding="utf-8", errors=errors, newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        _refuse(path, "it is not valid UTF-8")


def edit_json(path: str, change: Callable[[dict[str, Any]], None]) -> Edit:
    """Return the edit that `change` makes to the top-level object. It keeps the file's style."""
    before = read_text(path)
    settings = _parse_json(path, before) if before and before.strip() else {}
    original = json.dumps(settings)
    try:
        change(settings)
    except (TypeError, AttributeError, KeyError):
        _refuse(path, "it has an unexpected structure")
    if json.dumps(settings) == original:
        return Edit(path, before, before)
    return Edit(path, before, _format_json(settings, before or ""))


def _parse_json(path: str, text: str) -> dict[str, Any]:
    def parse_float(literal: str) -> float:
        value = float(literal)
        if Decimal(repr(value)) != Decimal(literal):
            _refuse(path, f"writing it would change the number {one_line(literal)}")
        return value

    def parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            _refuse(path, "it has a duplicate key")
        return result

    def parse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a number")

    try:
        settings = json.loads(
            text,
            parse_float=parse_float,
            object_pairs_hook=parse_object,
            parse_constant=parse_constant,
        )
    except (ValueError, RecursionError) as error:
        _refuse(path, f"it is not valid JSON ({error})")
    if not isinstance(settings, dict):
        _refuse(path, "it is not a JSON object")
    return settings


def _format_json(settings: dict[str, Any], before: str) -> str:
    indent = _INDENT.match(before)
    is_one_line = bool(before.strip()) and indent is None
    spaced = (", ", ": ") if '": ' in before else (",", ":")
    text = json.dumps(
        settings,
        indent=None if is_one_line and settings else indent.group(1) if indent else 2,
        separators=spaced if is_one_line else (",", ": "),
        ensure_ascii=bool(before) and before.isascii(),
    )
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    end = re.search(r"\s*\Z", before)
    return text + (end.group() if before.strip() and end else "\n")


def mark_block(text: str, remove_command: str) -> str:
    """Return the text between marks that `BLOCK` finds again."""
    mark = f"# >>> ccgrep >>> `{remove_command}` removes this block"
    return f"{mark}\n{text}# <<< ccgrep <<<\n"


def edit_toml(path: str, block: str | None, remove_command: str) -> Edit:
    """Return the edit that sets the marked block or, if `block` is None, removes it."""
    before = read_text(path)
    _check_toml(path, before or "")
    is_marked = before is not None and BLOCK.search(before) is not None
    rest = re.sub(r"\n?" + BLOCK.pattern, "", before or "", flags=re.DOTALL)
    if block is None:
        return Edit(path, before, rest if is_marked else before)
    gap = "" if not rest else "\n" if rest.endswith("\n") else "\n\n"
    after = rest + gap + mark_block(block, remove_command)
    if before is not None and is_marked and block in before:
        after = before
    _check_toml(path, after)
    return Edit(path, before, after)


def _check_toml(path: str, text: str) -> None:
    try:
        tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        _refuse(path, f"it is not valid TOML, or would become invalid ({error})")


def _refuse(path: str, why: str) -> NoReturn:
    raise UsageError(f"cannot edit {one_line(path)}, {one_line(why)}: fix the file and try again")


def diff(edit: Edit) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    before, after = ((text or "").splitlines() for text in (edit.before, edit.after))
    old = edit.path if edit.before is not None else "/dev/null"
    new = edit.path if edit.after is not None else "/dev/null"
    yield from map(escape, unified_diff(before, after, old, new, lineterm=""))


def apply(edit: Edit) -> str | None:
    """Write the edit. Return the path of the backup, or None if there is none."""
    _check_unchanged(edit)
    if edit.after is None:
        os.unlink(edit.path)
        return None
    os.makedirs(os.path.dirname(edit.path), exist_ok=True)
    backup = None if edit.is_own or edit.before is None else _free_name(edit.path)
    if backup is not None and edit.before is not None:
        _write(backup, edit.before, like=edit.path)
    _write(edit.path, edit.after, like=edit.path)
    return backup


def _check_unchanged(edit: Edit) -> None:
    if read_text(edit.path) != edit.before:
        _refuse(edit.path, "another program has just changed it")


def _write(path: str, text: str, like: str) -> None:
    """Write a file with the mode of another one, if that exists."""
    mode = stat.S_IMODE(os.stat(like).st_mode) if os.path.exists(like) else None
    write_file(path, text)
    if mode is not None:
        os.chmod(os.path.realpath(path), mode)


def _free_name(path: str) -> str:
    """Return the path of a backup that does not exist yet."""
    now = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path}.{now}-{number}{_BACKUP}" for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def find_backups(path: str) -> list[str]:
    """Return the backups of a settings file, the oldest first."""
    directory, name = os.path.split(path)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    is_backup = re.compile(rf"{re.escape(name)}\.[\d-]+{re.escape(_BACKUP)}").fullmatch
    return [os.path.join(directory, one) for one in names if is_backup(one)]


def restore(edit: Edit, parse: Callable[[str], object]) -> Edit:
    """Return a removal that brings back the file as it was before setup.

    Compare the oldest such backup with what the removal leaves. If `parse` reads the same from
    both, nobody else changed the settings, and the backup's bytes come back. A file that setup
    created is deleted if nothing is left in it.
    """
    if edit.after is None or edit.before == edit.after:
        return edit
    left, backups = parse(edit.after), find_backups(edit.path)
    for backup in backups:
        text = read_text(backup)
        if text is not None and parse(text) == left:
            return edit._replace(after=text)
    return edit._replace(after=None) if left == parse("") and not backups else edit


def undo(edit: Edit) -> Iterator[str]:
    """Apply a removal, delete the backups, and yield a line for each change."""
    _check_unchanged(edit)
    if edit.before != edit.after:
        if edit.after is None:
            os.unlink(edit.path)
        else:
            _write(edit.path, edit.after, like=edit.path)
        yield f"{'removed' if edit.after is None else 'wrote'}: {one_line(edit.path)}"
    for backup in find_backups(edit.path):
        os.unlink(backup)
        yield f"removed: {one_line(backup)}"


def remove_empty_dirs(directory: str, last: str) -> None:
    """Remove a directory and those above it up to `last`, as long as they are empty."""
    with contextlib.suppress(OSError):  # It does not exist, or contains files.
        while True:
            os.rmdir(directory)
            if directory == last:
                return
            directory = os.path.dirname(directory)
