"""Commands that run as another user, or where nothing can be written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534
BECOME_NOBODY = f"""
import os, shutil, tempfile
import importlib, ccgrep.ingest.recover, ccgrep.refresh.update
for name in ("blame", "export", "forget", "fsck", "gc", "index", "status"):
    importlib.import_module(f"ccgrep.cli.commands.{{name}}")
for warm in (["login"], ["-E", "x+"], ["list"], ["show", "x"], ["stats"]):
    run(warm)  # Only root may be able to read the Python installation.
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
"""
"""Code for `run_many` that loads everything and then gives up root."""

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user, or mount"
)


@contextmanager
def shared_directory() -> Iterator[Path]:
    """Make a directory that every user can reach, and remove it at the end."""
    path = Path(tempfile.mkdtemp(prefix="ccgrep-tests-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
