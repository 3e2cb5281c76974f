"""Where things are: a frozen Config, made once from the environment and the flags."""

from __future__ import annotations

import os

from ccgrep.errors import UsageError
from ccgrep.named import TYPE_CHECKING, NamedTuple
from ccgrep.sources.scan import Root, roots_of
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccgrep.kinds import SourceName


class Config(NamedTuple):
    store_dir: str
    roots: tuple[Root, ...]


def make_config(
    environment: Mapping[str, str],
    roots: list[str] | None = None,
    source: SourceName | None = None,
) -> Config:
    """The configuration; `roots` given by hand replace the usual directories."""
    home = environment.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home) and not environment.get("CCGREP_DIR"):
        raise UsageError("HOME is not set: set it, or CCGREP_DIR and --root")
    found = _given_roots(roots) if roots else _usual_roots(environment, home)
    return Config(
        store_dir=os.path.abspath(_store_dir(environment, home)),
        roots=tuple(root for root in found if source in (None, root.source)),
    )


def _store_dir(environment: Mapping[str, str], home: str) -> str:
    if directory := environment.get("CCGREP_DIR"):
        return directory
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "ccgrep")


def _usual_roots(environment: Mapping[str, str], home: str) -> list[Root]:
    """The directories of both agents, as far as they are there."""
    claude = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    usual = [Root(claude, "claude_code"), Root(codex, "codex")]
    return [root for root in usual if os.path.isdir(root.path)]


def _given_roots(directories: list[str]) -> list[Root]:
    found: list[Root] = []
    for directory in directories:
        roots = roots_of(directory)
        if not roots:
            raise UsageError(
                f"{one_line(directory)} has neither projects/ of Claude Code nor sessions/ of "
                "Codex: name a home directory, or a directory such as ~/.claude or ~/.codex"
            )
        found += roots
    return found
