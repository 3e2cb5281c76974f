"""A store is private to its owner, whatever the umask."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.scenarios import index_topics
from tests.helpers import scale
from tests.helpers.embedded_home import run_many
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.users import BECOME_NOBODY, needs_root, shared_directory

OTHER_USER = 12345


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_no_file_of_the_store_is_open_to_others(
    home: Home, umask: int, figure: Callable[[str], None]
) -> None:
    index_topics(home)
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
        f"umask {umask:03o}: {len(commands) + 1} commands, {len(open_ones)} of "
        f"{len(entries)} files and directories open to others"
    )


def content(home: Home) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.store_dir.rglob("*") if path.is_file()}


@needs_root
def test_store_of_another_user_is_refused() -> None:
    """Even if its permissions would allow access."""
    with shared_directory() as directory:
        home = Home(directory / "home")
        index_topics(home)
        id = home.claude(1).id
        for path in (home.store_dir, *home.store_dir.rglob("*")):
            os.chown(path, OTHER_USER, OTHER_USER)
            path.chmod(0o777 if path.is_dir() else 0o666)
        home.directory.chmod(0o777)
        before = content(home)
        commands = [["login"], ["-F", "login"], ["list"], ["show", id], ["stats"], ["index"]]
        commands += [["gc"], ["fsck"], ["fsck", "--repair"], ["forget", id], ["status"]]
        commands += [["blame", "x.py"], ["export", id], ["--no-refresh", "login"]]
        commands += [["--no-index", "-F", "login"]]
        for command, done in zip(commands, run_many(home, commands, BECOME_NOBODY), strict=True):
            assert (done.code, done.out) == (2, ""), (command, done)
            assert f"belongs to another user (uid {OTHER_USER})" in done.err, (command, done)
        (completed,) = run_many(home, [["__complete", "session", ""]], BECOME_NOBODY)
        assert (completed.out, completed.err) == ("", "")
        assert content(home) == before


def test_store_open_to_others_is_made_private_with_a_warning(home: Home) -> None:
    index_topics(home)
    for command in (("index",), ("login",)):
        home.store_dir.chmod(0o755)
        file = home.claude(9)
        file.turn(f"again {command}", "and more")
        file.write()
        done = home.run(*command)
        assert done.returncode == 0
        assert "was open to other users: it is private now" in done.stderr, command
        assert stat.S_IMODE(home.store_dir.stat().st_mode) == 0o700
        assert "open to other users" not in home.run(*command).stderr
    assert_same_as_fresh(home)
