"""Install or remove shell completions and key bindings: `ccgrep setup shell`.

fish loads them from its own directories. For bash and zsh, ccgrep writes a file of its own and adds
a marked block to the start-up file. It changes nothing outside the marks.
"""

import os
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ccgrep.cli.generate import COMPLETIONS, completions, keys
from ccgrep.cli.settings_files import BLOCK, mark_block, read_text, remove_empty_dirs
from ccgrep.ops.save_file import write_bytes
from ccgrep.settings import home_dir
from ccgrep.text import one_line

_OWN_PREFIX = "# ccgrep"
"""The start of a line in every file that ccgrep writes. It replaces or removes no other file."""
_BLOCK_NOTE, _FILE_NOTE = "removes this block", "removes this file"
"""What the first line of the block says, in a file that existed and in one that setup created."""
_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"


class Target(NamedTuple):
    """A file to write, or the block to put into a start-up file."""

    path: str
    text: str
    is_startup: bool = False


def setup_shell(environment: Mapping[str, str], is_dry: bool, is_removal: bool) -> Iterator[str]:
    """Install or remove, and yield a line for each file."""
    shells = [s for s in COMPLETIONS if is_removal or shutil.which(s, path=environment.get("PATH"))]
    if not shells:
        yield f"nothing to set up: none of {', '.join(COMPLETIONS)} is on the PATH"
    for shell in shells:
        for target in targets(shell, environment):
            yield change_file(target, is_dry, is_removal)
            if is_removal and not is_dry and not target.is_startup:
                remove_empty_dirs(os.path.dirname(target.path), _config_dir(environment))
    if shells and not (is_dry or is_removal):
        yield "Open a new shell, type `ccgrep show ` and press Tab, or press Ctrl-G to pick a REF."


def targets(shell: str, environment: Mapping[str, str]) -> list[Target]:
    home = home_dir(environment)
    config = _config_dir(environment)
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
        text = f"{_OWN_PREFIX} for zsh\n{_COMPINIT}{text}"
    quoted = shlex.quote(own)
    block = mark_block(f"[ -r {quoted} ] && . {quoted}\n", "ccgrep setup shell --remove")
    return [Target(own, text), Target(startup, block, is_startup=True)]


def _config_dir(environment: Mapping[str, str]) -> str:
    home = home_dir(environment)
    return environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")


def change_file(target: Target, is_dry: bool, is_removal: bool) -> str:
    """Write or remove a file, unless it is not ours, and return a line that says so."""
    before = read_text(target.path, errors="surrogateescape")
    if not target.is_startup and before is not None and not _is_own(before):
        return f"skipped, not written by ccgrep: {one_line(target.path)}"
    after = _edit(target, before, is_removal)
    if after == before:
        verb = "unchanged"
    elif is_dry:
        verb = "would remove" if after is None else "would write"
    else:
        _write(target.path, after)
        verb = "removed" if after is None else "wrote"
    return f"{verb}: {one_line(target.path)}{' (one block)' if target.is_startup else ''}"


def _edit(target: Target, before: str | None, is_removal: bool) -> str | None:
    """Return the new text of the target's file, or None if the file is to be removed."""
    if not target.is_startup:
        return None if is_removal else target.text
    if before is None:
        return None if is_removal else target.text.replace(_BLOCK_NOTE, _FILE_NOTE)
    rest = BLOCK.sub("", before)
    if is_removal:
        return None if not rest and _FILE_NOTE in before else rest
    is_known = target.text in before.replace(_FILE_NOTE, _BLOCK_NOTE)
    if is_known and len(BLOCK.findall(before)) == 1:
        return before
    gap = "" if not rest or rest.endswith("\n") else "\n"
    return f"{rest}{gap}{target.text}"


def _is_own(text: str) -> bool:
    return any(line.startswith(_OWN_PREFIX) for line in text.splitlines()[:3])


def _write(path: str, text: str | None) -> None:
    """Write or, if `text` is None, remove the file. Keep its mode, and a link a link."""
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
    os.chmod(os.path.realpath(path), mode)
