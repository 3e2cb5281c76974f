"""Settings files of other programs: changed in one place, and otherwise left as they are.

A file that cannot be read for certain is not touched. What is written is shown first, comes
whole or not at all, and what stood there before is kept beside it.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
import tomllib
from decimal import Decimal
from difflib import unified_diff

from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.ops.save_file import write_file
from ccgrep.text import escape, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

_INDENT = re.compile(r"\A\s*\{\r?\n([ \t]+)\"")


class Edit(NamedTuple):
    """What a file holds and is to hold; None is a file that is not there."""

    path: str
    before: str | None
    after: str | None
    is_own: bool = False  # the whole file is ccgrep's


def read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        _refuse(path, "it is not UTF-8")


def edit_json(path: str, change: Callable[[dict[str, Any]], None]) -> Edit:
    """The file with what `change` does to its top object; its style is kept."""
    before = read_text(path)
    held = _parsed(path, before) if before and before.strip() else {}
    was = json.dumps(held)
    try:
        change(held)
    except (TypeError, AttributeError, KeyError):
        _refuse(path, "it is not built as such a file is")
    if json.dumps(held) == was:
        return Edit(path, before, before)
    return Edit(path, before, _written(held, before or ""))


def _parsed(path: str, text: str) -> dict[str, Any]:
    def number(literal: str) -> float:
        value = float(literal)
        if Decimal(repr(value)) != Decimal(literal):
            _refuse(path, f"the number {one_line(literal)} would be changed")
        return value

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            _refuse(path, "a key stands in it twice")
        return made

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    try:
        held = json.loads(
            text, parse_float=number, object_pairs_hook=unique, parse_constant=constant
        )
    except (ValueError, RecursionError) as error:
        _refuse(path, f"it is not valid JSON ({error})")
    if not isinstance(held, dict):
        _refuse(path, "it is not a JSON object")
    return held


def _written(held: dict[str, Any], before: str) -> str:
    indent = _INDENT.match(before)
    is_plain = bool(before.strip()) and indent is None  # on one line, as programs write it
    text = json.dumps(
        held,
        indent=None if is_plain and held else indent.group(1) if indent else 2,
        separators=_separators(before) if is_plain else (",", ": "),
        ensure_ascii=bool(before) and before.isascii(),
    )
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    end = re.search(r"\s*\Z", before)
    return text + (end.group() if before.strip() and end else "\n")


def _separators(line: str) -> tuple[str, str]:
    return (", ", ": ") if '": ' in line else (",", ":")


def edit_toml(path: str, block: str | None, marks: tuple[str, str]) -> Edit:
    """The file with a block between marks, or without it; everything else byte by byte."""
    before = read_text(path)
    _check_toml(path, before or "")
    marked = re.compile(rf"\n?{re.escape(marks[0])}\n.*?{re.escape(marks[1])}\n?", re.DOTALL)
    rest = marked.sub("", before or "")
    if block is None:
        after = rest if before is not None and marked.search(before) else before
        return Edit(path, before, after)
    gap = "" if not rest else "\n" if rest.endswith("\n") else "\n\n"
    after = f"{rest}{gap}{marks[0]}\n{block}{marks[1]}\n"
    if before is not None and marked.search(before) and block in before:
        after = before
    _check_toml(path, after)
    return Edit(path, before, after)


def _check_toml(path: str, text: str) -> None:
    try:
        tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        _refuse(path, f"it is not valid TOML, or would not be ({error})")


def _refuse(path: str, why: str) -> NoReturn:
    raise UsageError(f"{one_line(path)} was left as it is: {one_line(why)}; mend it and try again")


def diff(edit: Edit) -> Iterator[str]:
    """What changes, as a unified diff."""
    before, after = ((text or "").splitlines() for text in (edit.before, edit.after))
    old = edit.path if edit.before is not None else "/dev/null"
    new = edit.path if edit.after is not None else "/dev/null"
    yield from map(escape, unified_diff(before, after, old, new, lineterm=""))


def apply(edit: Edit) -> str | None:
    """Makes the change; gives where what stood in another program's file is kept."""
    if read_text(edit.path) != edit.before:
        _refuse(edit.path, "it was changed meanwhile")
    if edit.after is None:
        os.unlink(edit.path)
        _remove_if_empty(os.path.dirname(edit.path))
        return None
    os.makedirs(os.path.dirname(edit.path), exist_ok=True)
    if edit.before is None:
        write_file(edit.path, edit.after)
        return None
    mode = stat.S_IMODE(os.stat(edit.path).st_mode)
    backup = None if edit.is_own else _free_name(edit.path)
    for path, text in ((backup, edit.before), (edit.path, edit.after)):
        if path is not None:
            write_file(path, text)
            os.chmod(os.path.realpath(path), mode)
    return backup


def _free_name(path: str) -> str:
    """Where a backup replaces no other."""
    name = f"{path}.{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while os.path.lexists(f"{name}-{number}.ccgrep-backup"):
        number += 1
    return f"{name}-{number}.ccgrep-backup"


def _remove_if_empty(directory: str) -> None:
    try:
        os.rmdir(directory)
    except OSError:
        return  # Something else is in there.
