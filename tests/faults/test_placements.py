"""Links, pipes and devices in place of transcripts are skipped; vanished transcripts are kept."""

import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ccgrep.sources.files import open_regular
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

SECRET = "outsideword"


@pytest.fixture
def inside(home: Home) -> ClaudeFile:
    file = home.claude(1)
    file.turn("insideword", "yes")
    file.write()
    return file


@pytest.fixture
def outside(home: Home, tmp_path: Path) -> Path:
    """A directory outside of every root, with files that a root may hold."""
    other = Home(tmp_path / "outside")
    file = other.claude(2)
    file.turn(SECRET, "no")
    file.write()
    rollout = other.codex(2)
    rollout.meta()
    rollout.turn(SECRET, "no")
    rollout.write()
    shutil.copy(file.path, tmp_path / "outside" / "plain.jsonl")
    return tmp_path / "outside"


def bind(path: Path) -> None:
    """Make a socket; its directory's path may be longer than a socket address."""
    here = os.getcwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def link(target: Path | str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def node(kind: int, major: int, minor: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        try:
            os.mknod(path, kind | 0o600, os.makedev(major, minor))
        except PermissionError:
            pytest.skip("only root makes devices")

    return make


def placements(home: Home, outside: Path) -> dict[str, tuple[Path, Callable[[Path], None]]]:
    project = home.projects / "-home-sam-src-shop"
    day = home.codex_sessions / "2026" / "09" / "22"
    day.mkdir(parents=True)
    rollout = next(outside.rglob("rollout-*.jsonl"))
    history = outside / "history.jsonl"
    line = '{"display":"%s","sessionId":"abcdef12","timestamp":1790000000000,"project":"/p"}\n'
    history.write_text(line % SECRET, encoding="utf-8")
    return {
        "link to a file": (project / "link.jsonl", link(outside / "plain.jsonl")),
        "link to a folder": (home.projects / "linked", link(outside / ".claude" / "projects")),
        "link to the folder itself": (project / "loop", link(project)),
        "link to itself": (project / "self.jsonl", link("self.jsonl")),
        "link to nothing": (project / "nothing.jsonl", link(outside / "nothing")),
        "link to /dev/zero": (project / "zero.jsonl", link("/dev/zero")),
        "link to a rollout": (day / rollout.name, link(rollout)),
        "link to a day": (day.parent / "23", link(rollout.parent)),
        "link to a history": (home.projects.parent / "history.jsonl", link(history)),
        "link to an index": (project / "sessions-index.json", link(history)),
        "FIFO": (project / "fifo.jsonl", os.mkfifo),
        "socket": (project / "socket.jsonl", bind),
        "device that never ends": (project / "device.jsonl", node(stat.S_IFCHR, 1, 5)),
        "folder": (project / "folder.jsonl", Path.mkdir),
        "outputs elsewhere": (project / "tool-results", link(outside)),
    }


def files_with_secret(home: Home) -> list[Path]:
    paths = [path for path in home.store_dir.rglob("*") if path.is_file()]
    return [path for path in paths if SECRET.encode() in path.read_bytes()]


def test_only_regular_files_inside_the_root_are_read(
    home: Home, inside: ClaudeFile, outside: Path, figure: Callable[[str], None]
) -> None:
    placed = placements(home, outside)
    leaks = 0
    for name, (path, make) in placed.items():
        make(path)
        done = home.run("index", "-q")
        assert done.returncode == 0, (name, done.stderr)
        leaks += home.run(SECRET, "--no-refresh").returncode != 1
    leaks += len(files_with_secret(home))
    assert leaks == 0
    assert [home.prompts(id) for id in home.rows()] == [["insideword"]]
    figure(f"placements: {len(placed)}, {leaks} read from outside")


class Link:
    """A link that can take the place of a file or directory, and give it back."""

    def __init__(self, path: Path, target: Path) -> None:
        self._path = path
        self._target = target
        self._away = path.with_name("-away")

    def place(self) -> None:
        self._path.rename(self._away)
        self._path.symlink_to(self._target)

    def remove(self) -> None:
        if self._path.is_symlink():
            self._path.unlink()
            self._away.rename(self._path)


def open_with_swap(
    path: Path, root: str, at: int, swap: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> str | None:
    """Return the content of a file that is opened with a swap before the n-th `os.open`.

    Return "skipped" for a file that was not opened, and None if there was no n-th `os.open`.
    """
    really_open, number = os.open, 0

    def open_late(*arguments: Any, **options: Any) -> int:
        nonlocal number
        number += 1
        if number == at:
            swap()
        return really_open(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_late)
        descriptor = open_regular(str(path), root)
    if descriptor is None:
        return "skipped"
    with open(descriptor, "rb") as file:
        content = file.read().decode()
    return content if number >= at else None


def open_with_every_swap(
    path: Path, root: str, link: Link, monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """Return the results of opening a file while a link takes its place or gives it back."""
    results: set[str] = set()
    for at in count(1):
        result = open_with_swap(path, root, at, link.place, monkeypatch)
        link.remove()
        if result is None:
            return results
        link.place()
        back = open_with_swap(path, root, at, link.remove, monkeypatch)
        link.remove()
        assert back is not None
        results |= {result, back}
    raise AssertionError


@pytest.fixture
def ours(home: Home) -> Path:
    path = Path(os.path.realpath(home.projects), "-shop", "plain.jsonl")
    path.parent.mkdir()
    path.write_text("ours")
    return path


@pytest.mark.parametrize("has_root", [False, True])
def test_file_swapped_for_a_link_is_not_followed(
    ours: Path, outside: Path, has_root: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(ours.parents[2]) if has_root else ""
    link = Link(ours, outside / "plain.jsonl")
    assert open_with_every_swap(ours, root, link, monkeypatch) == {"ours", "skipped"}


def test_directory_swapped_for_a_link_is_not_followed(
    ours: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Link(ours.parent, outside)
    root = str(ours.parents[2])
    assert open_with_every_swap(ours, root, link, monkeypatch) == {"ours", "skipped"}


def test_spills_are_not_read_through_a_link(home: Home, outside: Path) -> None:
    (outside / "call.txt").write_text(SECRET, encoding="utf-8")
    file = home.claude(1)
    spilled = "<persisted-output>\nOutput too large. Full output saved to: x/tool-results/call.txt"
    file.turn("a prompt", "an answer", "make", spilled)
    file.write()
    folder = file.path.with_suffix("")
    folder.mkdir()
    (folder / "tool-results").symlink_to(outside, target_is_directory=True)
    home.index()
    assert home.run("-F", "-t", "tool", SECRET).returncode == 1
    (folder / "tool-results").unlink()
    shutil.copytree(outside, folder / "tool-results")
    home.index(is_full=True)
    assert home.run("-F", "-t", "tool", SECRET).returncode == 0


def test_projects_may_be_a_link_to_another_disk(home: Home, tmp_path: Path) -> None:
    home.claude(1).write()
    elsewhere = tmp_path / "disk"
    home.projects.rename(elsewhere)
    home.projects.symlink_to(elsewhere, target_is_directory=True)
    home.index()
    assert len(home.rows()) == 1


def run_unprivileged(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command without root's permission to read everything."""
    drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*drop, sys.executable, "-m", "ccgrep", *arguments],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )


def unreadable(home: Home) -> None:
    home.projects.chmod(0)


def unreadable_project(home: Home) -> None:
    next(home.projects.iterdir()).chmod(0)


def no_directory(home: Home) -> None:
    shutil.rmtree(home.projects)
    home.projects.write_text("a file now", encoding="utf-8")


def no_root(home: Home) -> None:
    shutil.rmtree(home.projects.parent)


def empty_mount(home: Home) -> None:
    shutil.rmtree(home.projects)
    home.projects.mkdir()


VANISHED = (unreadable, unreadable_project, no_directory, no_root, empty_mount)


@pytest.mark.parametrize("vanish", VANISHED, ids=lambda vanish: vanish.__name__)
def test_vanished_transcripts_stay_searchable(
    home: Home, vanish: Callable[[Home], None], figure: Callable[[str], None]
) -> None:
    ids = []
    for seed in range(20):
        file = home.claude(seed + 1, slug=f"-home-{seed % 3}")
        file.turn(f"prompt {seed}", "answer")
        file.write()
        ids.append(file.id)
    home.index()
    copy = shutil.copytree(home.projects.parent, home.directory / "copy")
    vanish(home)
    done = run_unprivileged(home, "index")
    if vanish is not empty_mount:
        # Without any root there is nothing to name.
        assert vanish is no_root or str(home.projects) in done.stderr, done.stderr
        assert not any(row.is_gone for row in home.rows().values())
    found = run_unprivileged(home, "prompt", "-n0", "-l").stdout.count("\n")
    assert found == len(ids)
    assert run_unprivileged(home, "show", ids[0]).returncode == 0
    if home.projects.exists():
        home.projects.chmod(0o700)
    shutil.rmtree(home.projects.parent, ignore_errors=True)
    copy.rename(home.projects.parent)
    home.index()
    assert not any(row.is_gone for row in home.rows().values())
    assert_same_as_fresh(home)
    figure(f"vanished ({vanish.__name__.replace('_', ' ')}): {found} of {len(ids)} sessions found")
