"""Readers of other packages: found, read, and skipped if they do not work."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from ccgrep.model import ToolResult
from ccgrep.sources import plugins
from tests.helpers.homes import SOURCE, Home
from tests.helpers.made_up_agent import write_database

TESTS = str(Path(__file__).parents[2])
EXAMPLE = Path(TESTS) / "examples" / "plugin"
MODULE = """
from tests.helpers.made_up_agent import *
from tests.helpers import made_up_agent
SOURCE = made_up_agent.SOURCE._replace(module=__name__)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    path = tmp_path / "packages"
    path.mkdir()
    return path


def install(packages: Path, name: str, text: str) -> None:
    """Install a package with one module and an entry point, as pip would."""
    (packages / f"{name}.py").write_text(text)
    info = packages / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[ccgrep.sources]\n{name} = {name}\n")


def run(home: Home, packages: Path, *words: str) -> tuple[int, str, str]:
    path = f"{SOURCE}:{TESTS}:{packages}"
    done = home.run(*words, env={"PYTHONPATH": path})
    return done.returncode, done.stdout, done.stderr


def test_plug_in_is_read_searched_resumed_and_listed(home: Home, packages: Path) -> None:
    install(packages, "made_up_reader", MODULE)
    database = home.directory / ".made-up" / "notes.db"
    messages = [("user", "where is the tea", 1_790_000_000_000)]
    write_database(database, {"ses_a": messages})
    assert run(home, packages, "index")[0] == 0
    code, out, error = run(home, packages, "tea", "--source", "made-up")
    assert (code, out.partition(":")[0], error) == (0, "ses_a", "")
    messages.append(("agent", "in the kettle", 1_790_000_000_001))
    write_database(database, {"ses_a": messages})
    assert "kettle" in run(home, packages, "kettle")[1], "changes are detected as for other agents"
    code, out, _ = run(home, packages, "resume", "ses_a", "--in", str(home.directory))
    assert (code, "made-up --session=ses_a" in out) == (0, True)
    listed = run(home, packages, "sources")[1]
    assert "made-up" in listed and str(database.parent) in listed


def test_example_of_a_plug_in_works_without_any_other_agent(home: Home, packages: Path) -> None:
    install(packages, "ccgrep_tea", (EXAMPLE / "ccgrep_tea.py").read_text())
    shutil.rmtree(home.directory / ".claude", ignore_errors=True)
    shutil.rmtree(home.directory / ".codex", ignore_errors=True)
    file = home.directory / ".tea" / "sessions" / "brew-1.jsonl"
    file.parent.mkdir(parents=True)
    records: list[dict[str, object]] = [
        {"role": "user", "text": "where is the kettle", "time": 1_790_000_000, "cwd": "/"},
        {"role": "agent", "text": "Let me look.", "tokens": {"input": 100, "output": 7}},
        {"role": "call", "id": "c1", "name": "shell", "input": {"command": "ls"}},
        {"role": "result", "id": "c1", "text": "a samovar", "failed": True},
    ]
    content = "".join(json.dumps(record) + "\n" for record in records)
    file.write_text(content)
    assert run(home, packages, "samovar", "-t", "tool")[1].startswith("brew-1:0:")
    content += json.dumps({"role": "user", "text": "and the saucer"}) + "\n"
    file.write_text(content)
    assert run(home, packages, "saucer", "--source", "tea")[1].startswith("brew-1:1:")
    assert home.prompts("brew-1") == ["where is the kettle", "and the saucer"]
    (call,) = home.turns("brew-1")[0].calls()
    assert call.result == ToolResult("a samovar", True)
    assert run(home, packages, "resume", "brew-1")[1] == "cd / && tea --session=brew-1\n"
    file.unlink()
    assert run(home, packages, "restore", "brew-1")[0] == 0
    assert file.read_text() == content


def test_broken_plug_ins_are_named_and_skipped(home: Home, packages: Path) -> None:
    install(packages, "raising_reader", "raise RuntimeError('no luck')")
    install(packages, "empty_reader", "SOURCE = 1")
    failing = MODULE + "def list_files(listing):\n    raise KeyError('lost')\n"
    install(packages, "failing_reader", failing)
    write_database(home.directory / ".made-up" / "notes.db", {"ses_a": [("user", "x", 1)]})
    file = home.claude()
    file.turn("hello", "there")
    file.write()
    code, _, error = run(home, packages, "index")
    assert code == 0
    assert "skipped the plug-in 'raising_reader': RuntimeError: no luck" in error
    assert "skipped the plug-in 'empty_reader': TypeError" in error
    assert "the plug-in 'made_up' failed: KeyError: 'lost'" in error
    assert run(home, packages, "hello")[1].startswith(file.id[:8])


def test_unknown_source_is_an_error(home: Home, packages: Path) -> None:
    code, _, error = run(home, packages, "tea", "--source", "made-up")
    assert code == 2 and "invalid value 'made-up' for --source" in error


def test_nothing_is_loaded_without_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert not plugins.is_any_installed()
