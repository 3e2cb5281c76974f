"""A search covers what is on disk, even without an index, the writer lock or write permission.

Also `ccgrep resume`, which leads from a hit back to the session.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgrep.fulltext.discussion_index import DiscussionIndex
from ccgrep.ingest import batch
from ccgrep.store.fsio import remove_tree
from ccgrep.store.lock import WriterLock
from tests.helpers.homes import Home, assert_same_as_fresh


@pytest.fixture
def shop(home: Home) -> Home:
    file = home.claude(1, name="aaaaaaaa-first")
    file.turn("Fix the auth bug", "日本語でも直しました。")
    file.turn("thanks", "You're welcome.")
    file.write()
    home.index()
    return home


# Refresh


def test_search_without_an_index_builds_it(home: Home) -> None:
    file = home.claude(1, name="aaaaaaaa-first")
    file.turn("needle", "found")
    file.write()
    done = home.run("needle")
    assert (done.returncode, done.stdout) == (0, "aaaaaaaa:0:1.000:needle\n")
    assert_same_as_fresh(home)


def test_search_without_a_full_text_index_builds_it(shop: Home) -> None:
    before = shop.run("auth").stdout
    remove_tree(str(shop.store_dir / "text"))
    done = shop.run("auth")
    assert (done.returncode, done.stdout) == (0, before)
    assert (shop.store_dir / "text").is_dir()


def test_discussion_is_searchable_during_the_first_build(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first build reads top-level sessions first. Others can search them before it ends."""
    file = home.claude(1, name="aaaaaaaa-first")
    file.turn("why is the Login slow", "a needle was missing", "make cache", "only in output\n")
    file.write()
    agent = home.subagent(file, "agent-a1")
    agent.turn("look for a needle", "there is a thimble")
    agent.write()
    codex = home.codex(2)
    codex.meta()
    codex.turn("list the proxies", "there are two", "ls", "a b c")
    codex.write()
    home.rest()
    commands = [
        ["needle", "login"],
        ["--no-refresh", "-F", "a needle"],
        ["--no-refresh", "-E", "nee.le", "-t", "assistant"],
        ["--no-refresh", "needle", "--tool", "Bash"],
        ["--no-refresh", "-l", "proxies"],
        ["--no-refresh", "output"],
        ["--no-refresh", "thimble"],
        ["show", "aaaaaaaa:0", "--json"],
    ]
    found: list[tuple[int, str]] = []
    notes: list[str] = []
    finish = DiscussionIndex.finish

    def finish_and_search(first: DiscussionIndex) -> None:
        finish(first)
        done = [home.run(*command) for command in commands]
        found.extend((run.returncode, run.stdout) for run in done[:-1])
        assert "a needle was missing" in done[-1].stdout
        notes.extend(run.stderr for run in done)

    monkeypatch.setattr(DiscussionIndex, "finish", finish_and_search)
    monkeypatch.setattr(batch, "_INLINE_BYTES", 0)
    home.index()
    assert found == [
        (0, "aaaaaaaa:0:1.000:why is the Login slow\n"),
        (0, "aaaaaaaa:0:0.490:a needle was missing\n"),
        (0, "aaaaaaaa:0:0.490:a needle was missing\n"),
        (0, "aaaaaaaa:0:1.000:a needle was missing\n"),
        (0, f"{codex.id[:8]}\n"),
        (1, ""),
        (1, ""),
    ]
    assert "are still being indexed" in notes[0]
    assert_same_as_fresh(home)


def test_no_refresh_without_a_store_suggests_index(home: Home) -> None:
    done = home.run("--no-refresh", "needle")
    assert (done.returncode, done.stdout) == (2, "")
    assert "run `ccgrep index`" in done.stderr


def test_search_ingests_appended_turns(home: Home) -> None:
    file = home.claude(1)
    file.turn("first", "one")
    file.write()
    assert home.run("needle").returncode == 1
    file.turn("needle", "found")
    file.append()
    assert home.run("--no-refresh", "needle").returncode == 1
    assert home.run("needle").returncode == 0
    assert home.run("--no-refresh", "needle").returncode == 0
    file.answer("the thread came later")
    file.append()
    assert home.run("-F", "the thread").returncode == 0
    assert_same_as_fresh(home)


def test_search_ingests_a_new_session_that_a_filter_names(home: Home) -> None:
    file = home.claude(1)
    file.turn("first", "one")
    file.write()
    home.run("first")
    other = home.claude(2, name="bbbbbbbb-new", cwd="/home/sam/src/brandnew")
    other.turn("needle", "found")
    other.write()
    assert home.run("-p", "brandnew", "needle").returncode == 0
    third = home.claude(3, name="cccccccc-new")
    third.turn("needle", "found again")
    third.write()
    assert home.run("--session", "cccccccc", "needle").returncode == 0


def test_deleted_transcript_is_still_found(shop: Home) -> None:
    before = shop.run("auth").stdout
    next(shop.projects.rglob("*.jsonl")).unlink()
    done = shop.run("auth")
    assert (done.returncode, done.stdout, done.stderr) == (0, before, "")
    assert shop.json("auth")["results"][0]["is_gone"] is True


def test_no_index_answers_the_same(shop: Home) -> None:
    for arguments in (["auth"], ["-F", "auth"], ["-E", "th.*s"], ["-c", "-v", "x"], ["-L", "x"]):
        plain, scan = shop.run(*arguments), shop.run("--no-index", *arguments)
        assert plain.stdout and (scan.returncode, scan.stdout) == (0, plain.stdout), arguments


# Locks and permissions


def test_search_does_not_wait_for_another_writer(shop: Home) -> None:
    file = shop.claude(2)
    file.turn("needle", "found")
    file.write()
    with WriterLock(str(shop.store_dir / "lock"), 0):
        done = shop.run("auth")
        assert (done.returncode, done.stdout) == (0, "aaaaaaaa:0:1.000:Fix the auth bug\n")
        assert done.stderr.count("\n") == 1
        assert "another ccgrep is writing" in done.stderr
        assert shop.run("needle").returncode == 1
        assert shop.json("auth")["coverage"]["is_fresh"] is False
        quiet = shop.run("-q", "auth")
        assert (quiet.returncode, quiet.stderr) == (0, "")
    assert shop.run("needle").returncode == 0


def test_search_without_a_full_text_index_works_under_a_lock(shop: Home) -> None:
    remove_tree(str(shop.store_dir / "text"))
    with WriterLock(str(shop.store_dir / "lock"), 0):
        for arguments in (["auth"], ["-F", "auth"]):
            assert shop.run(*arguments).returncode == 0, arguments


@pytest.fixture
def read_only(shop: Home) -> Iterator[Home]:
    """Return a home whose store is read-only."""
    directories = [shop.store_dir, *(p for p in shop.store_dir.rglob("*") if p.is_dir())]
    for path in directories:
        path.chmod(0o500)
    (shop.store_dir / "lock").chmod(0o400)
    yield shop
    for path in directories:
        path.chmod(0o700)


def run_without_capabilities(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ccgrep without the capability of root to write everywhere."""
    command = [sys.executable, "-m", "ccgrep", *arguments]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root writes everywhere, and setpriv is not installed")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    return subprocess.run(
        command, env=home.environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_search_works_on_a_read_only_store(read_only: Home) -> None:
    probe = run_without_capabilities(read_only, "index")
    assert probe.returncode == 2, "the store is writable"
    for arguments in (
        ["auth"], ["-F", "auth"], ["-E", "^thanks"], ["-l", "auth"], ["--json", "auth"],
        ["--no-refresh", "auth"], ["--no-index", "-F", "auth"], ["-C1", "auth"],
    ):  # fmt: skip
        done = run_without_capabilities(read_only, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        assert done.stdout
    assert run_without_capabilities(read_only, "kangaroo").returncode == 1


def test_search_works_on_a_read_only_store_that_is_behind(read_only: Home) -> None:
    file = read_only.claude(2)
    file.turn("needle", "found")
    file.write()
    done = run_without_capabilities(read_only, "auth")
    assert (done.returncode, done.stdout) == (0, "aaaaaaaa:0:1.000:Fix the auth bug\n")
    assert "cannot write" in done.stderr
    assert run_without_capabilities(read_only, "needle").returncode == 1


# Streams


def test_same_bytes_in_every_locale(shop: Home) -> None:
    for arguments in (["auth"], ["直しました"], ["-F", "日本語"], ["--json", "-F", "本"]):
        outputs = [
            shop.run(*arguments, env=env).stdout
            for env in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "POSIX"}, {})
        ]
        bare = [part.partition('"results"')[2] or part for part in outputs]
        assert bare[0] and len(set(bare)) == 1, arguments
    coded = shop.run("-F", "auth", "-C1", env={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert coded.stdout == shop.run("-F", "auth", "-C1").stdout


def test_reader_that_closes_the_pipe_is_no_error(home: Home) -> None:
    file = home.claude(1, name="aaaaaaaa-first")
    for number in range(600):
        file.turn(f"deploy {number} " + "to the east and to the west " * 8, "ok")
    file.write()
    home.index()
    assert len(home.run("-F", "deploy").stdout) > 2 * 65536  # more than a pipe holds
    for options in ("-F deploy", "-n0 deploy", "-oF deploy", "-n0 --jsonl deploy", "-0F deploy"):
        done = subprocess.run(
            f"{sys.executable} -m ccgrep {options} | head -c 100; echo; echo ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            env=home.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stderr, done.stdout.splitlines()[-1]) == ("", "0"), options


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("typed", ["auth", "--json auth", "--version", "--help"])
def test_full_disk_on_standard_output_is_exit_2(shop: Home, typed: str) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ccgrep", *typed.split()],
            env=shop.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("ccgrep: cannot write the output")


# From a hit to the session


@pytest.fixture
def sessions(home: Home, tmp_path: Path) -> Home:
    """Return a home with a session of each source, in existing directories."""
    for name in ("shop it's", "api"):
        (tmp_path / name).mkdir()
    claude = home.claude(1, name="aaaaaaaa-first", cwd=str(tmp_path / "shop it's"))
    claude.turn("Fix the auth bug", "Fixed.")
    claude.write()
    agent = home.subagent(claude, "agent-a1111111")
    agent.turn("look around", "Nothing.")
    agent.write()
    codex = home.codex(2, cwd=str(tmp_path / "api"))
    codex.meta()
    codex.turn("Sort the list", "Sorted.")
    codex.write()
    home.index()
    return home


def codex_id(home: Home) -> str:
    return next(id for id, row in home.rows().items() if row.session.source == "codex")


def test_resume_prints_a_command_for_the_shell(sessions: Home, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for program in ("claude", "codex"):
        script = tmp_path / "bin" / program
        script.write_text(f'#!/bin/sh\necho "{program} $@ in $PWD"\n', encoding="utf-8")
        script.chmod(0o755)
    env = {**sessions.environment, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    directory = tmp_path / "shop it's"
    for ref, ran in (
        ("aaaaaaaa", f"claude --resume aaaaaaaa-first in {directory}\n"),
        ("aaaaaaaa:0", f"claude --resume aaaaaaaa-first in {directory}\n"),
        ("agent-a1", f"claude --resume aaaaaaaa-first in {directory}\n"),
        (codex_id(sessions), f"codex resume {codex_id(sessions)} in {tmp_path / 'api'}\n"),
    ):
        done = sessions.run("resume", ref)
        assert (done.returncode, done.stderr) == (0, "")
        shell = subprocess.run(
            ["bash", "-c", done.stdout], env=env, capture_output=True, text=True, check=True
        )
        assert shell.stdout == ran
        assert sessions.run("resume", "--exec", ref, env=env).stdout == ran
    words = shlex.split(sessions.run("resume", "aaaaaaaa").stdout)
    assert words == ["cd", str(directory), "&&", "claude", "--resume", "aaaaaaaa-first"]


def test_resume_reports_a_missing_directory(sessions: Home, tmp_path: Path) -> None:
    (tmp_path / "api").rmdir()
    done = sessions.run("resume", codex_id(sessions))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path / 'api'} is gone" in done.stderr
    assert sessions.run("resume", "--exec", codex_id(sessions)).returncode == 1


def test_resume_rebuilds_a_deleted_transcript_that_is_not_stored(sessions: Home) -> None:
    assert sessions.run("gc", env={"CCGREP_KEEP": "turns"}).returncode == 0
    path = next(sessions.projects.rglob("aaaaaaaa-first.jsonl"))
    path.unlink()
    done = sessions.run("resume", "aaaaaaaa")
    assert done.returncode == 0
    assert f"rebuilt {path}" in done.stderr
    assert path.exists()


def test_resume_restores_a_transcript_deleted_since_the_last_run(sessions: Home) -> None:
    path = next(sessions.projects.rglob("aaaaaaaa-first.jsonl"))
    content = path.read_bytes()
    path.unlink()
    assert sessions.run("resume", "aaaaaaaa").returncode == 0
    assert path.read_bytes() == content


def test_resume_of_an_unknown_ref_is_exit_2(sessions: Home) -> None:
    for ref, message in (("zzzzzzzz", "no session matches"), ("aaaaaaaa:7", "is out of range")):
        done = sessions.run("resume", ref)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
