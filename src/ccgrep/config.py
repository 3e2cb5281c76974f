"""The configuration of a command: a frozen Config, built once from settings and options.

This is the only module that knows where the store and the agents' directories are.
"""

from __future__ import annotations

import os

from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.settings import Setting, home_dir, read_settings
from ccgrep.sources.registry import (
    SOURCES,
    Root,
    find_default_roots,
    find_roots,
    is_desktop_dir,
)
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ccgrep.kinds import DefaultMode, Inclusion, SourceName


REMOTE_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_CONFIG_FILE",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SHARED_CREDENTIALS_FILE",
    "HOME",
)
MODEL_VARIABLES = (
    "HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME",
)  # fmt: skip


class Config(NamedTuple):
    """The directories, and a field for each of the other keys of `settings.KEYS`."""

    store_dir: str
    roots: tuple[Root, ...]
    recalls_dir: str
    temp_dirs: tuple[str, ...]  # where Claude Code keeps the output of background commands
    exclude: tuple[str, ...]
    limit: int
    list_limit: int
    subagents: Inclusion
    timeout_s: float
    refresh_budget_s: float
    recall_chars: int
    recall_timeout_s: float
    team_timeout_s: float
    color: str
    redact: str
    pager: str
    mode: DefaultMode
    model: str
    embed_window_days: int
    surfaces: tuple[str, ...]
    alpha: float
    embed: str
    index_kinds: tuple[str, ...]
    keep: str
    prices: str
    model_variables: Mapping[str, str]  # The environment that tells where models are.
    remote_variables: Mapping[str, str]  # The same for the credentials of remotes.
    plugin_variables: Mapping[str, str]  # The same for the agents of plug-ins; empty: read none.
    project_sources: tuple[SourceName, ...]  # The agents to look for in known projects.


def make_config(
    environment: Mapping[str, str],
    roots: list[str] | None = None,
    sources: tuple[SourceName, ...] = (),
    settings: Mapping[str, Setting] | None = None,
) -> Config:
    """Return the configuration. `roots` from the command line replace all others."""
    home = home_dir(environment)
    settings = settings or read_settings(environment)
    values: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    more_roots = [path for path in values.pop("roots") if os.path.isdir(path)]
    all_roots = _find_roots(roots) if roots else find_default_roots(environment, home)
    if not roots:
        all_roots += [root for root in _find_roots(more_roots) if root not in all_roots]
    return Config(
        store_dir=values.pop("store"),
        roots=tuple(root for root in all_roots if not sources or root.source in sources),
        recalls_dir=_recalls_dir(environment, home),
        temp_dirs=_temp_dirs(environment),
        plugin_variables={} if roots or sources else environment,
        project_sources=() if roots else _project_sources(sources),
        model_variables={name: environment.get(name, "") for name in MODEL_VARIABLES},
        remote_variables={name: environment.get(name, "") for name in REMOTE_VARIABLES},
        **values,
    )


def _project_sources(sources: tuple[SourceName, ...]) -> tuple[SourceName, ...]:
    names = (source.name for source in SOURCES if source.is_in_projects)
    return tuple(name for name in names if not sources or name in sources)


def client_root(config: Config, source: SourceName) -> str | None:
    """Return the directory where a client on this machine looks for its sessions."""
    roots = (root.path for root in config.roots if root.source == source)
    return next((path for path in roots if not is_desktop_dir(path)), None)


def _temp_dirs(environment: Mapping[str, str]) -> tuple[str, ...]:
    named = (environment.get("CLAUDE_CODE_TMPDIR"), environment.get("TMPDIR"), "/tmp")  # noqa: S108
    return tuple(dict.fromkeys(path for path in named if path and os.path.isabs(path)))


def _recalls_dir(environment: Mapping[str, str], home: str) -> str:
    claude = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    return os.path.abspath(os.path.join(claude, "recalls"))


def _find_roots(directories: list[str]) -> list[Root]:
    all_roots: list[Root] = []
    for directory in directories:
        roots = find_roots(directory)
        if not roots:
            raise UsageError(
                f"{one_line(directory)} has no history of an agent: name a home directory, or a "
                "directory such as ~/.claude (`ccgrep sources` lists all)"
            )
        all_roots += roots
    return all_roots
