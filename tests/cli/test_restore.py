"""ccgrep restore and resume: deleted transcripts come back, byte for byte."""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8


@pytest.fixture
def file(home: Home) -> ClaudeFile:
    """A session with an image, a sub-agent and a stored output."""
    directory = home.directory / "shop"
    directory.mkdir()
    file = home.claude(cwd=str(directory))
    file.turn("what is in this picture", "a zebra")
    record = file.records[0]
    assert isinstance(record, dict)
    data = base64.b64encode(PNG).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    record["message"]["content"] = [
        {"type": "text", "text": "what is in this picture"},
        {"type": "image", "source": source},
    ]
    file.write()
    folder = file.path.with_suffix("")
    (folder / "subagents").mkdir(parents=True)
    agent = ClaudeFile(folder / "subagents", 7, cwd=str(directory))
    agent.path = folder / "subagents" / "agent-a1.jsonl"
    agent.turn("count the stripes", "forty")
    agent.write()
    (folder / "subagents" / "agent-a1.meta.json").write_text('{"agentType":"counter"}')
    (folder / "tool-results").mkdir()
    (folder / "tool-results" / "toolu_1.txt").write_text("long output\n" * 100)
    home.index()
    return file


def files_below(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def delete(home: Home) -> dict[str, bytes]:
    """Delete every transcript, and return what was there."""
    before = files_below(home.projects)
    for path in sorted(home.projects.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    return before


def test_restore_writes_session_sub_agents_and_outputs(home: Home, file: ClaudeFile) -> None:
    before = delete(home)
    done = home.run("restore", file.id[:8])
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["restored"] * 4
    assert {row[2] for row in rows} == {str(home.projects / name) for name in before}
    assert files_below(home.projects) == before
    assert {path.stat().st_mode & 0o777 for path in home.projects.rglob("*.jsonl")} == {0o600}
    again = home.run("restore", file.id)
    assert {line.split("\t")[0] for line in again.stdout.splitlines()} == {"present"}


def test_dry_run_writes_nothing(home: Home, file: ClaudeFile) -> None:
    delete(home)
    done = home.run("restore", "--dry-run", file.id)
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == {"missing"}
    assert files_below(home.projects) == {}


def test_file_that_differs_is_never_overwritten(home: Home, file: ClaudeFile) -> None:
    before = files_below(home.projects)
    name = str(file.path.relative_to(home.projects))
    delete(home)
    file.path.parent.mkdir()
    file.path.write_bytes(b"something else")
    done = home.run("restore", file.id)
    assert done.returncode == 2
    assert "use --force" in done.stderr
    assert files_below(home.projects) == {name: b"something else"}
    forced = home.run("restore", "--force", file.id)
    assert forced.returncode == 0
    assert files_below(home.projects) == {**before, f"{name}.bak": b"something else"}


def test_file_that_has_grown_since_stays(home: Home, file: ClaudeFile) -> None:
    file.turn("one more", "yes")
    file.append()
    grown = file.path.read_bytes()
    assert home.run("restore", file.id).returncode == 0
    assert file.path.read_bytes() == grown


def test_restore_to_another_directory_makes_a_root(home: Home, file: ClaudeFile) -> None:
    before = files_below(home.projects)
    target = home.directory / "elsewhere"
    assert home.run("restore", "--to", str(target), file.id).returncode == 0
    assert files_below(target / "projects") == before


def test_versions_of_a_rewritten_transcript(home: Home, file: ClaudeFile) -> None:
    before = file.path.read_bytes()
    file.path.write_bytes(before.replace(b"{", b"{ ", 1))
    home.index()
    lines = home.run("restore", "--versions", file.id).stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["1", "2"]
    versions = home.json("restore", "--versions", file.id)["versions"]
    assert [one["size"] for one in versions] == [len(before), len(before) + 1]
    target = home.directory / "old"
    done = home.run("restore", "--version", "1", "--to", str(target), file.id)
    assert done.returncode == 0
    assert (target / "projects" / file.path.relative_to(home.projects)).read_bytes() == before
    wrong = home.run("restore", "--version", "3", file.id)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "the session has 2" in wrong.stderr


def test_json_lists_the_files(home: Home, file: ClaudeFile) -> None:
    delete(home)
    found = home.json("restore", file.id)["files"]
    assert {one["state"] for one in found} == {"restored"}
    assert {one["path"] for one in found} == set(map(str, home.projects.rglob("*.*")))


def test_session_without_bytes_is_reported_and_the_others_are_restored(
    home: Home, file: ClaudeFile
) -> None:
    line = {"display": "typed", "sessionId": "0eab4b26-0000", "timestamp": 1, "project": "/x"}
    (home.projects.parent / "history.jsonl").write_text(json.dumps(line) + "\n")
    home.index()
    delete(home)
    done = home.run("restore", "0eab4b26-0000", file.id)
    assert done.returncode == 2
    assert "cannot rebuild 0eab4b26-0000, only its prompts are known" in done.stderr
    assert file.path.exists()
    done = home.run("resume", "0eab4b26-0000")  # The directory is gone, too, but does not matter.
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "only its prompts are known" in done.stderr


def test_a_place_that_is_no_directory_is_an_error(home: Home, file: ClaudeFile) -> None:
    done = home.run("restore", file.id, "--to", str(file.path))
    message = f"ccgrep: {file.path} is not a directory: name another one with --to\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    done = home.run("resume", file.id, "--in", str(file.path))
    message = f"ccgrep: {file.path} is not a directory: choose another one with --in DIR\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_session_of_which_only_turns_are_stored_is_rebuilt(home: Home) -> None:
    file = home.claude(3)
    file.turn("prompt", "answer")
    file.write()
    assert home.run("index", env={"CCGREP_KEEP": "turns"}).returncode == 0
    before = home.manifest(file.id).entries
    different = home.run("restore", file.id)  # The file has other bytes than a rebuilt one.
    assert (different.returncode, "use --force" in different.stderr) == (2, True)
    file.path.unlink()
    done = home.run("restore", file.id)
    assert done.returncode == 0
    assert done.stdout.startswith("rebuilt\t")
    assert "without thinking and images" in done.stderr
    home.index()
    assert [entry.turn for entry in home.manifest(file.id).entries] == [
        entry.turn for entry in before
    ]


def test_resume_restores_a_deleted_transcript(home: Home, file: ClaudeFile) -> None:
    before = delete(home)
    done = home.run("resume", file.id)
    assert done.returncode == 0
    assert done.stdout == f"cd {home.directory}/shop && claude --resume {file.id}\n"
    assert f"restored {file.path}" in done.stderr
    assert files_below(home.projects) == before
    assert home.run("resume", file.id).stderr == ""


def test_resume_in_another_directory(home: Home, file: ClaudeFile) -> None:
    other = home.directory / "shop-2"
    other.mkdir()
    content = file.path.read_bytes()
    done = home.run("resume", "--in", str(other), file.id)
    assert done.stdout == f"cd {other} && claude --resume {file.id}\n"
    folder = str(other).replace("/", "-").replace(".", "-").replace("_", "-")
    copied = home.projects / folder / file.path.name
    assert copied.read_bytes() == content
    assert (home.projects / folder / file.id / "tool-results" / "toolu_1.txt").exists()
    home.index()
    assert home.json("status")["sessions"] == 2  # the session and its sub-agent


def test_image_is_shown_by_its_hash_and_written_to_a_file(home: Home, file: ClaudeFile) -> None:
    shown = home.run("show", file.id).stdout
    (line,) = (line for line in shown.splitlines() if "[image" in line)
    size = f"{len(PNG) / 1000:.1f} KB"
    assert line.strip().startswith(f"[image: png, {size}, @")
    ref = line.strip()[:-1].rpartition(" ")[2]
    command = [sys.executable, "-m", "ccgrep", "show", ref]
    done = subprocess.run(command, env=home.environment, capture_output=True, check=True)
    assert done.stdout == PNG
    page = home.run("export", "--format", "html", file.id).stdout
    assert f'src="data:image/png;base64,{base64.b64encode(PNG).decode()}"' in page
    assert home.run("show", "@" + "0" * 12).returncode == 2


def test_restore_below_a_file_is_an_error(home: Home, file: ClaudeFile) -> None:
    delete(home)
    os.rmdir(home.projects)
    home.projects.write_text("not a directory")
    done = home.run("restore", file.id)
    assert done.returncode == 2
    assert done.stderr.startswith("ccgrep: ")
    assert len(done.stderr.splitlines()) == 1


def test_status_warns_of_transcripts_that_will_be_lost(home: Home) -> None:
    file = home.claude(3)
    file.turn("prompt", "answer")
    file.write()
    old = time.time() - 25 * 86_400 - 60
    os.utime(file.path, (old, old))
    assert home.run("index", env={"CCGREP_KEEP": "turns"}).returncode == 0
    (line,) = (line for line in home.run("status").stdout.splitlines() if "Not kept" in line)
    assert "1 transcript" in line
    assert line.endswith('deleted by Claude Code in 5 days: run `ccgrep index` with keep = "all"')
    settings = home.projects.parent / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 10}')
    assert "deleted by Claude Code soon" in home.run("status").stdout
    home.index()
    assert "Not kept" not in home.run("status").stdout
    settings.write_text('{"cleanupPeriodDays": 0}')
    assert "Claude Code writes no transcripts" in home.run("status").stdout
    assert home.json("status")["unwritten_roots"] == [str(home.projects.parent)]
