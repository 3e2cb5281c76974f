"""What stands in a transcript's place without being one is passed over; what is gone is kept."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.sources.files import open_regular
from tests.helpers import scale
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
    """Transcripts outside of every root, as a folder with what a root may hold."""
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
    """A socket, in a folder whose name may be too long for one."""
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


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


def test_only_regular_files_inside_the_root_are_read(
    home: Home, inside: ClaudeFile, outside: Path, figure: Callable[[str], None]
) -> None:
    placed = placements(home, outside)
    for name, (path, make) in placed.items():
        make(path)
        begun = time.monotonic()
        done = home.run("index", "-q")
        assert done.returncode == 0, (name, done.stderr)
        assert time.monotonic() - begun < 10, name
        assert home.run(SECRET, "--no-refresh").returncode == 1, name
    assert [home.prompts(id) for id in home.rows()] == [["insideword"]]
    assert not any(
        SECRET.encode() in path.read_bytes() for path in home.store_dir.rglob("*") if path.is_file()
    )
    figure(f"placements: {len(placed)}, 0 bytes from outside")


def opened_meanwhile(
    path: str, root: str, swap: Callable[[], None], until: threading.Event
) -> tuple[int, int]:
    """How often a file is opened, and passed over, while `swap` is at work; it is always ours."""
    swapper = threading.Thread(target=swap, daemon=True)
    swapper.start()
    opened = passed_over = 0
    times, deadline = scale.of(1000, 10_000), time.monotonic() + 30
    while opened + passed_over < times or not (opened and passed_over):
        assert time.monotonic() < deadline
        descriptor = open_regular(path, root)
        if descriptor is None:
            passed_over += 1
            continue
        opened += 1
        assert SECRET.encode() not in os.read(descriptor, 10_000)
        os.close(descriptor)
    until.set()
    swapper.join()
    return opened, passed_over


def test_a_file_that_is_swapped_for_a_link_is_not_followed(
    inside: ClaudeFile, outside: Path, figure: Callable[[str], None]
) -> None:
    path, until = str(inside.path), threading.Event()
    link_, plain = f"{path}.link", f"{path}.plain"

    def swap() -> None:
        while not until.is_set():
            os.symlink(outside / "plain.jsonl", link_)
            os.replace(link_, path)
            Path(plain).write_bytes(b"ours\n")
            os.replace(plain, path)

    opened, passed_over = opened_meanwhile(path, "", swap, until)
    figure(
        f"swapped for a link: {opened + passed_over} opens, {passed_over} passed over, 0 followed"
    )


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(
    home: Home, outside: Path, figure: Callable[[str], None]
) -> None:
    """A folder of the same names, with something else in them."""
    folder, until = home.projects / "-swapped", threading.Event()
    plain, link_ = home.projects / "-plain", home.projects / "-link"
    folder.mkdir()
    (folder / "plain.jsonl").write_bytes(b"ours\n")
    path, root = str(folder / "plain.jsonl"), os.path.realpath(home.projects.parent)

    def swap() -> None:
        while not until.is_set():
            folder.rename(plain)
            link_.symlink_to(outside)
            link_.rename(folder)
            folder.unlink()
            plain.rename(folder)

    opened, passed_over = opened_meanwhile(path, root, swap, until)
    figure(
        f"folder swapped for a link: {opened + passed_over} opens, {passed_over} passed over, "
        "0 followed"
    )


def test_outputs_beside_a_transcript_are_not_read_through_a_link(home: Home, outside: Path) -> None:
    """Nor through a folder that is one."""
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


# What cannot be listed, or is empty all of a sudden.


def powerless(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command without the right of root to read everything."""
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
def test_transcripts_that_vanish_stay_in_sight(
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
    done = powerless(home, "index")
    if vanish is not empty_mount:
        # An agent that was removed altogether has no root that could be named.
        assert vanish is no_root or str(home.projects) in done.stderr, done.stderr
        assert not any(row.is_gone for row in home.rows().values())
    assert powerless(home, "prompt", "-n0", "-l").stdout.count("\n") == len(ids)
    assert powerless(home, "show", ids[0]).returncode == 0
    if home.projects.exists():
        home.projects.chmod(0o700)
    shutil.rmtree(home.projects.parent, ignore_errors=True)
    copy.rename(home.projects.parent)
    home.index()
    assert not any(row.is_gone for row in home.rows().values())
    assert_same_as_fresh(home)
    figure(f"vanished ({vanish.__name__.replace('_', ' ')}): 0 of {len(ids)} turns dropped")
