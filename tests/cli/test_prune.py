"""`ccgrep prune` deletes only what the store gives back byte for byte, and says what it did."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from ccgrep.errors import WriteError
from ccgrep.ops import prune
from ccgrep.store import fsio
from tests.faults.injection import SEAMS, Fault, SavedHome, Seam, run, run_killed_at
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.terminal import run_on_terminal
from tests.helpers.transcripts import ClaudeFile

DAY_S = 86_400
OLD = ("prune", "--older-than", "90d")


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY_S
    os.utime(path, (then, then))


@pytest.fixture
def old(home: Home) -> ClaudeFile:
    """An old session with a sub-agent, beside a new one."""
    file = home.claude(1, name="aaaaaaaa-old")
    file.turn("an old zebra", "yes", "ls", "x" * 500)
    agent = home.subagent(file, "agent-a1b2c3d")
    agent.turn("look", "nothing")
    new = home.claude(2, name="bbbbbbbb-new")
    new.turn("a new zebra", "yes")
    for each, days in ((file, 100), (agent, 100), (new, 10)):
        each.write()
        age(each.path, days)
    home.index()
    return file


def states(text: str) -> dict[str, str]:
    rows = [line.split("\t") for line in text.splitlines()]
    return {Path(row[2]).stem: row[0] for row in rows}


def test_dry_run_deletes_nothing_and_says_what_it_frees(home: Home, old: ClaudeFile) -> None:
    done = home.run(*OLD, "--dry-run")
    assert done.returncode == 0
    assert states(done.stdout) == {"aaaaaaaa-old": "deletable", "agent-a1b2c3d": "deletable"}
    assert done.stderr.startswith("ccgrep: 2 transcripts can be deleted, which frees ")
    assert old.path.exists()
    assert home.run("prune", "--list").stdout == ""


def test_deleted_transcripts_are_searchable_and_come_back(home: Home, old: ClaudeFile) -> None:
    content = old.path.read_bytes()
    done = home.run(*OLD, "--yes")
    assert (done.returncode, set(states(done.stdout).values())) == (0, {"deleted"})
    assert not old.path.exists()
    assert {*home.run("zebra", "-l").stdout.split()} == {"aaaaaaaa", "bbbbbbbb"}
    listed = [line.split("\t") for line in home.run("prune", "--list").stdout.splitlines()]
    assert sorted(row[1] for row in listed) == ["aaaaaaaa-old", "agent-a1b2c3d"]
    assert str(old.path) in {row[3] for row in listed}
    assert home.run("restore", "aaaaaaaa").returncode == 0
    assert old.path.read_bytes() == content
    home.index()
    assert_same_as_fresh(home)
    assert home.run("index", "--recreate").returncode == 0
    assert len(home.json("prune", "--list")["pruned"]) == 2
    home.run("forget", "aaaaaaaa")
    assert home.run("prune", "--list").stdout == ""


def test_transcript_whose_bytes_are_not_stored_stays(home: Home, old: ClaudeFile) -> None:
    old.turn("not ingested", "yet")
    old.append()
    age(old.path, 100)
    done = home.run(*OLD, "--yes", "--no-refresh")
    assert states(done.stdout) == {"aaaaaaaa-old": "not stored", "agent-a1b2c3d": "deleted"}
    assert "1 transcript kept: the store does not have every byte" in done.stderr
    assert old.path.exists()
    assert [one["state"] for one in home.json(*OLD, "--yes")["files"]] == ["deleted"]


def test_same_size_with_other_bytes_stays(home: Home, old: ClaudeFile) -> None:
    content = old.path.read_bytes()
    old.path.write_bytes(content.replace(b"an old zebra", b"an odd zebra"))
    age(old.path, 100)
    assert states(home.run(*OLD, "--yes", "--no-refresh").stdout)["aaaaaaaa-old"] == "not stored"
    assert old.path.exists()


def test_without_stored_bytes_nothing_is_deleted(home: Home, old: ClaudeFile) -> None:
    shutil.rmtree(home.store_dir)
    config = home.directory / "config.toml"
    config.write_text('keep = "turns"\n')
    env = {"CCGREP_CONFIG": str(config)}
    done = home.run(*OLD, "--yes", env=env)
    assert set(states(done.stdout).values()) == {"not stored"}
    assert old.path.exists()


def test_damaged_store_deletes_nothing(home: Home, old: ClaudeFile) -> None:
    for pack in home.store_dir.rglob("*.pack"):
        data = bytearray(pack.read_bytes())
        for at in range(200, len(data), 50):
            data[at] ^= 1
        pack.chmod(0o600)
        pack.write_bytes(data)
    home.run(*OLD, "--yes", "--no-refresh")
    assert old.path.exists()


def test_transcript_that_changes_after_the_check_stays(home: Home, old: ClaudeFile) -> None:
    config = home.config
    found = prune.find_candidates(config, int(time.time() - 90 * DAY_S) * 1000)
    old.turn("resumed", "just now")
    old.append()
    done = {one.path: one.state for one in prune.prune(config, found, 1)}
    assert done[str(old.path)] == "not stored" and old.path.exists()
    assert [one.session for one in prune.list_pruned(config)] == ["agent-a1b2c3d"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_transcript_that_another_process_has_open_stays(home: Home, old: ClaudeFile) -> None:
    with open(old.path, "rb"):
        done = home.run(*OLD, "--yes")
        assert states(done.stdout)[old.path.stem] == "open" and old.path.exists()
        assert "1 transcript kept: open in another process: quit the agent first\n" in done.stderr
    assert states(home.run(*OLD, "--yes").stdout)[old.path.stem] == "deleted"


def test_link_and_backup_stay(home: Home, old: ClaudeFile, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    shutil.copytree(home.directory / ".claude", backup / ".claude")
    extra = ClaudeFile(backup / ".claude" / "projects" / "-x", 9, name="cccccccc-backup")
    extra.turn("only in the backup", "yes")
    extra.write()
    home.run("index", "-q", "--root", str(backup))
    for path in backup.rglob("*.jsonl"):
        age(path, 200)
    target = tmp_path / "target.jsonl"
    old.path.rename(target)
    old.path.symlink_to(target)
    home.run(*OLD, "--yes", "--no-refresh")
    assert target.exists() and old.path.is_symlink() and extra.path.exists()


def test_hard_links_free_nothing(home: Home, old: ClaudeFile, tmp_path: Path) -> None:
    os.link(old.path, tmp_path / "backup.jsonl")
    (agent,) = home.projects.rglob("agent-a1b2c3d.jsonl")
    size = agent.stat().st_size
    assert home.json(*OLD, "--dry-run")["deletable_bytes"] == size
    done = home.run(*OLD, "--yes")
    assert set(states(done.stdout).values()) == {"deleted"}
    assert "1 transcript with other hard links: this frees nothing\n" in done.stderr
    assert home.run("restore", "aaaaaaaa").returncode == 0


def test_asks_on_a_terminal_and_refuses_without_one(home: Home, old: ClaudeFile) -> None:
    done = home.run(*OLD)
    assert (done.returncode, done.stdout) == (2, "")
    assert "prune asks before it deletes: use --yes" in done.stderr
    answer = "import io; sys.stdin = io.StringIO('n\\n'); sys.stdin.isatty = lambda: True"
    shown, code = run_on_terminal(home, *OLD, setup=answer)
    assert code == 1 and "Delete 2 transcripts (" in shown and "nothing was deleted" in shown
    assert old.path.exists()
    _, code = run_on_terminal(home, *OLD, setup=answer.replace("'n", "'y"))
    assert code == 0 and not old.path.exists()


def test_transcript_that_cannot_be_deleted_stays(
    home: Home, old: ClaudeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise WriteError(f"cannot delete {path}")

    found = prune.find_candidates(home.config, int(time.time() - 90 * DAY_S) * 1000)
    monkeypatch.setattr(fsio, "remove", refuse)
    assert {one.state for one in prune.prune(home.config, found, 1)} == {"not deleted"}
    assert old.path.exists() and prune.list_pruned(home.config) == []


@pytest.mark.parametrize("seam", SEAMS)
def test_killed_prune_loses_no_byte(home: Home, old: ClaudeFile, seam: Seam) -> None:
    """Whatever is gone can be restored, and is in the list."""
    contents = {path: path.read_bytes() for path in home.projects.rglob("*.jsonl")}
    saved = SavedHome(home)
    counted = run(home, *OLD, "--yes", fault=Fault(seam))
    assert counted.code == 0 and not old.path.exists()
    for n in scale.some(range(1, counted.operations + 1), 4):
        saved.restore()
        run_killed_at(home, n, *OLD, "--yes", seam=seam)
        gone = {path for path in contents if not path.exists()}
        assert all(path.read_bytes() == contents[path] for path in contents.keys() - gone)
        listed = {one["path"] for one in home.json("prune", "--list")["pruned"]}
        assert {str(path) for path in gone} <= listed
        if gone:
            assert home.run("restore", "aaaaaaaa").returncode == 0
        assert all(path.read_bytes() == content for path, content in contents.items())
        assert home.run("fsck").returncode == 0


def test_prune_without_an_age_is_an_error(home: Home) -> None:
    done = home.run("prune")
    assert (done.returncode, "use `ccgrep prune --older-than 90d" in done.stderr) == (2, True)
    assert home.run("prune", "--list", "--older-than", "1d").returncode == 2


def test_status_by_project(home: Home, old: ClaudeFile) -> None:
    cart = home.claude(3, slug="-cart", cwd="/home/sam/src/cart")
    cart.turn("sum", "42")
    cart.write()
    home.index()
    rows = [line.split("\t") for line in home.run("status", "--by", "project").stdout.splitlines()]
    sizes = {row[4]: int(row[0]) for row in rows}
    assert sizes["/home/sam/src/cart"] == cart.path.stat().st_size
    assert [row[4] for row in rows] == ["/home/sam/src/shop", "/home/sam/src/cart"]
    assert all(int(row[1]) > 0 for row in rows)
    found = home.json("status", "--by", "project")
    assert sum(one["store_bytes"] for one in found["projects"]) < found["store_bytes"]
    assert home.run("status", "--by", "project", "--root", "/").returncode == 2
    assert "in 2 projects" in run_on_terminal(home, "status", "--by", "project")[0]
