"""Tells when Claude Code deletes transcripts, by its own settings."""

import os
from typing import NamedTuple

from ccgrep.sources.files import read_side_json
from ccgrep.sources.registry import Root
from ccgrep.sources.values import as_count

_DEFAULT_DAYS = 30


class Cleanup(NamedTuple):
    """Claude Code deletes transcripts of `root` after `days`. With 0 days it writes none."""

    root: str
    days: int


def read_cleanup(root: Root) -> Cleanup:
    """Return the period in the settings of a root, or Claude Code's default."""
    settings = read_side_json(os.path.join(root.path, "settings.json"))
    days = as_count(settings.get("cleanupPeriodDays"))
    return Cleanup(root.path, _DEFAULT_DAYS if days is None else days)
