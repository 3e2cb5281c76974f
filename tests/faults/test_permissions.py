"""The store is its owner's alone: whatever the umask, and whoever else wants to use it."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.test_read_only import BECOME_NOBODY, fill, is_root, place
from tests.helpers import scale
from tests.helpers.embedded_home import run_many
from tests.helpers.homes import Home, assert_same_as_fresh

__all__ = ["place"]  # a fixture
SOMEBODY = 12345


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nothing_of_the_store_is_open_to_others(
    home: Home, umask: int, figure: Callable[[str], None]
) -> None:
    fill(home)
    is_embedded = scale.IS_LONG or umask == 0
    home.embed = "auto" if is_embedded else "never"
    shutil.rmtree(home.store_dir)
    exported = home.directory / "out.md"
    id = home.claude(1).id
    commands = [["index"], ["login"], ["stats"], ["forget", home.claude(2).id]]
    commands += [["export", id, "-o", str(exported)], ["gc"], ["fsck", "--repair"], ["index"]]
    commands += [["index", "--recreate"], *([["--semantic", "login"]] if is_embedded else [])]
    done = run_many(home, commands, f"import os; os.umask({umask})")
    assert [one.code for one in done] == [0] * len(commands), done
    assert home.run("mcp", input="", preexec_fn=lambda: os.umask(umask)).returncode == 0
    stores = sorted(home.directory.glob("store*"))
    entries = [path for store in stores for path in (store, *store.rglob("*"))]
    kinds = {path.suffix or path.name for path in entries}
    assert {".pack", ".idx", ".json", "SYNCED", "seen", "HEAD"} <= kinds
    assert (".vec" in kinds) == is_embedded
    assert exported in home.directory.iterdir()
    open_ones = [path for path in (*entries, exported) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_ones == []
    home.claude(2).path.unlink()
    assert_same_as_fresh(home)
    figure(
        f"umask {umask:03o}: {len(commands) + 1} commands, {len(entries)} files and directories, "
        "0 with a right for others"
    )


def content(home: Home) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.store_dir.rglob("*") if path.is_file()}


@is_root
def test_store_of_somebody_else_is_refused(place: Path) -> None:
    """Even where its rights would let us in."""
    home = Home(place / "home")
    fill(home)
    id = home.claude(1).id
    for path in (home.store_dir, *home.store_dir.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY)
        path.chmod(0o777 if path.is_dir() else 0o666)
    home.directory.chmod(0o777)
    before = content(home)
    commands = [["login"], ["-F", "login"], ["list"], ["show", id], ["stats"], ["index"], ["gc"]]
    commands += [["fsck"], ["fsck", "--repair"], ["forget", id], ["status"], ["blame", "x.py"]]
    commands += [["export", id], ["--no-refresh", "login"], ["--no-index", "-F", "login"]]
    for command, done in zip(commands, run_many(home, commands, BECOME_NOBODY), strict=True):
        assert (done.code, done.out) == (2, ""), (command, done)
        assert "belongs to another user (uid 12345)" in done.err, (command, done)
    (completed,) = run_many(home, [["__complete", "session", ""]], BECOME_NOBODY)
    assert (completed.out, completed.err) == ("", "")
    assert content(home) == before


def test_open_directory_is_closed_and_that_is_said(home: Home) -> None:
    fill(home)
    for command in (("index",), ("login",)):
        home.store_dir.chmod(0o755)
        home.claude(9).write()
        file = home.claude(9)
        file.turn(f"anew {command}", "and more")
        file.write()
        done = home.run(*command)
        assert done.returncode == 0
        assert "was open to other users: it is private now" in done.stderr, command
        assert stat.S_IMODE(home.store_dir.stat().st_mode) == 0o700
        assert "open to other users" not in home.run(*command).stderr
    assert_same_as_fresh(home)
