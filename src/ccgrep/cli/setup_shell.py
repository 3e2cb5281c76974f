"""Completions and keys for the shells of this user: what is written where, and taken away again.

Files of ccgrep's own, and for bash and zsh, which look into no directory of the user's, a marked
block in their start-up file. Everything between the marks is ccgrep's, everything else is left
byte by byte as it was.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat

from ccgrep.cli.generate import COMPLETIONS, completions
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.ops.save_file import write_bytes
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BEGIN = "# >>> ccgrep >>> `ccgrep setup shell --remove` takes this block away"
_END = "# <<< ccgrep <<<"
_BLOCK = re.compile(rf"{re.escape(_BEGIN[:16])}[^\n]*\n.*?{re.escape(_END)}\n?", re.DOTALL)
_OURS = "# ccgrep"
"""How a line of every file begins that ccgrep writes; no other file is replaced or removed."""
_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"


class Target(NamedTuple):
    """A file and what it should hold; of a start-up file that is its block."""

    path: str
    text: str
    is_startup: bool = False


def keys(shell: str) -> str:
    """What binds the keys of `ccgrep pick`."""
    directory = os.path.join(os.path.dirname(__file__), "keys")
    with open(os.path.join(directory, f"ccgrep.{shell}"), encoding="utf-8") as file:
        return file.read()


def setup_shell(environment: Mapping[str, str], is_dry: bool, is_removed: bool) -> Iterator[str]:
    """Installs or removes; says of each file what is done, or would be."""
    shells = [s for s in COMPLETIONS if is_removed or shutil.which(s, path=environment.get("PATH"))]
    if not shells:
        yield f"none of {', '.join(COMPLETIONS)} is on the PATH: nothing to set up"
    for shell in shells:
        for target in targets(shell, environment):
            yield _change(target, is_dry, is_removed)
    if shells and not (is_dry or is_removed):
        yield "new shells have it: press Tab behind `ccgrep show `, or Ctrl-G for a REF"


def targets(shell: str, environment: Mapping[str, str]) -> list[Target]:
    home = environment.get("HOME") or os.path.expanduser("~")
    config = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if shell == "fish":
        return [
            Target(os.path.join(config, "fish", "completions", "ccgrep.fish"), completions(shell)),
            Target(os.path.join(config, "fish", "conf.d", "ccgrep.fish"), keys(shell)),
        ]
    own = os.path.join(config, "ccgrep", f"ccgrep.{shell}")
    startup = os.path.join(home, ".bashrc")
    text = f"{completions(shell)}\n{keys(shell)}"
    if shell == "zsh":
        startup = os.path.join(environment.get("ZDOTDIR") or home, ".zshrc")
        text = f"{_OURS} for zsh\n{_COMPINIT}{text}"
    quoted = shlex.quote(own)
    block = f"{_BEGIN}\n[ -r {quoted} ] && . {quoted}\n{_END}\n"
    return [Target(own, text), Target(startup, block, is_startup=True)]


def _change(target: Target, is_dry: bool, is_removed: bool) -> str:
    before = _read(target.path)
    if not target.is_startup and before is not None and not _is_ours(before):
        return f"left alone, it is not ccgrep's: {one_line(target.path)}"
    after = _after(target, before, is_removed)
    if after == before:
        verb = "unchanged"
    elif is_dry:
        verb = "would be removed" if after is None else "would be written"
    else:
        _write(target.path, after)
        verb = "removed" if after is None else "written"
    return f"{verb}: {one_line(target.path)}{' (one block)' if target.is_startup else ''}"


def _after(target: Target, before: str | None, is_removed: bool) -> str | None:
    if not target.is_startup:
        return None if is_removed else target.text
    rest = _BLOCK.sub("", before or "")
    if is_removed:
        return before if rest == before or before is None else rest
    gap = "" if not rest or rest.endswith("\n") else "\n"
    return f"{rest}{gap}{target.text}" if not before or not _has(before, target) else before


def _has(text: str, target: Target) -> bool:
    return target.text in text and len(_BLOCK.findall(text)) == 1


def _is_ours(text: str) -> bool:
    return any(line.startswith(_OURS) for line in text.splitlines()[:3])


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _write(path: str, text: str | None) -> None:
    """A start-up file keeps its mode, and stays a link if it is one."""
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
    os.chmod(os.path.realpath(path), mode)
