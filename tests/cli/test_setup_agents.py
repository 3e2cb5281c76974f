"""ccgrep setup puts skill and server where an agent looks, and never damages what is there."""

import json
import os
import shlex
import stat
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ccgrep import __version__
from tests.helpers.homes import Home

PLUGIN = Path(__file__).parents[2] / "integrations" / "claude-code"
SKILL = (PLUGIN / "skills" / "ccgrep" / "SKILL.md").read_text(encoding="utf-8")
SETTINGS = {"model": "opus", "hooks": {"Stop": [{"hooks": []}]}, "cost": 0.1, "é": "\u200b"}


def files(home: Home) -> dict[str, str]:
    """The files of both agents that setup may touch, and the backups."""
    return {
        str(path.relative_to(home.directory)): path.read_text(encoding="utf-8")
        for path in sorted(home.directory.rglob("*"))
        if path.is_file() and "projects" not in path.parts
    }


def setup(home: Home, *arguments: str) -> str:
    done = home.run("setup", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_claude_gets_skill_and_server_and_loses_them_again(home: Home) -> None:
    before = files(home)
    output = setup(home, "claude")
    after = files(home)
    assert after[".claude/skills/ccgrep/SKILL.md"] == SKILL
    server = json.loads(after[".claude.json"])["mcpServers"]["ccgrep"]
    assert server["args"][-1] == "mcp"
    assert "+++ " in output
    assert "wrote: " in output
    assert setup(home, "claude") == "Nothing to do: everything is up to date.\n"
    assert files(home) == after
    setup(home, "claude", "--remove")
    left = files(home)
    assert {name: text for name, text in left.items() if "backup" not in name} == {
        **before, ".claude.json": "{}\n",
    }  # fmt: skip
    assert not (home.directory / ".claude" / "skills" / "ccgrep").exists()


def test_codex_gets_skill_and_server_and_loses_them_again(home: Home) -> None:
    config = home.directory / ".codex" / "config.toml"
    text = "# mine\nmodel = 'gpt' # a comment\n\n[mcp_servers.other]\ncommand = \"x\"\n"
    config.write_text(text)
    setup(home, "codex")
    held = tomllib.loads(config.read_text())
    assert held["mcp_servers"]["ccgrep"]["args"][-1] == "mcp"
    assert held["mcp_servers"]["other"] == {"command": "x"}
    assert config.read_text().startswith(text)
    assert setup(home, "codex") == "Nothing to do: everything is up to date.\n"
    setup(home, "codex", "--remove")
    assert config.read_text() == text


def test_a_dry_run_shows_the_diff_and_writes_nothing(home: Home) -> None:
    (home.directory / ".claude.json").write_text('{"mcpServers": {}}')
    before = files(home)
    output = setup(home, "claude", "--dry-run", "--hook")
    assert '+{"mcpServers": {"ccgrep"' in output
    assert output.endswith("Nothing was written.\n")
    assert files(home) == before


@pytest.mark.parametrize("indent", ["  ", "    ", "\t", None])
def test_settings_keep_their_values_their_style_their_mode_and_a_backup(
    home: Home, indent: str | None
) -> None:
    path = home.directory / ".claude" / "settings.json"
    text = json.dumps(SETTINGS, indent=indent, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o640)
    setup(home, "claude", "--hook")
    held = json.loads(path.read_text(encoding="utf-8"))
    (event,) = held["hooks"].pop("SessionEnd")
    assert event["hooks"][0]["command"].endswith("&")
    assert held == SETTINGS
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (backup,) = path.parent.glob("settings.json.*.ccgrep-backup")
    assert backup.read_text(encoding="utf-8") == text
    setup(home, "claude", "--remove")
    assert path.read_text(encoding="utf-8") == text
    assert len(list(path.parent.glob("settings.json.*.ccgrep-backup"))) == 2


def test_what_was_registered_by_hand_is_kept(home: Home) -> None:
    path = home.directory / ".claude.json"
    mine = {"command": "/opt/ccgrep", "args": ["mcp", "-home-me-*"]}
    path.write_text(json.dumps({"mcpServers": {"ccgrep": mine}}))
    setup(home, "claude")
    assert json.loads(path.read_text()) == {"mcpServers": {"ccgrep": mine}}


def test_a_link_stays_a_link(home: Home) -> None:
    dotfiles = home.directory / "dotfiles.json"
    dotfiles.write_text("{}")
    link = home.directory / ".claude.json"
    link.symlink_to(dotfiles)
    setup(home, "claude")
    assert link.is_symlink()
    assert "ccgrep" in json.loads(dotfiles.read_text())["mcpServers"]


BROKEN: dict[str, str] = {
    "cut off": '{"model": "opus"',
    "a comment": '{"model": "opus"} // mine',
    "a comma too many": '{"model": "opus",}',
    "a list": "[]",
    "a key twice": '{"model": 1, "model": 2}',
    "NaN": '{"x": NaN}',
    "a number that would change": '{"x": 0.10000000000000000000001}',
    "hooks of another shape": '{"hooks": []}',
    "an event of another shape": '{"hooks": {"SessionEnd": {}}}',
    "a byte order mark": "\ufeff{}",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_not_valid_is_left_and_nothing_else_is_written(
    home: Home, text: str
) -> None:
    path = home.directory / ".claude" / "settings.json"
    path.write_text(text, encoding="utf-8")
    before = files(home)
    done = home.run("setup", "claude", "--hook")
    assert done.returncode == 2
    assert "cannot edit " in done.stderr
    assert files(home) == before


@pytest.mark.parametrize("text", ["model = ", "[mcp_servers]\nccgrep = {}\n", "mcp_servers = {}\n"])
def test_a_codex_configuration_that_would_break_is_left(home: Home, text: str) -> None:
    path = home.directory / ".codex" / "config.toml"
    path.write_text(text)
    before = files(home)
    assert home.run("setup", "codex").returncode == 2
    assert files(home) == before


def test_a_skill_of_that_name_that_is_not_ccgreps_is_left(home: Home) -> None:
    path = home.directory / ".claude" / "skills" / "ccgrep" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: mine\n---\n")
    assert home.run("setup", "claude").returncode == 2
    assert home.run("setup", "claude", "--remove").returncode == 2
    assert path.read_text() == "---\nname: mine\n---\n"


def test_the_directories_of_the_agents_are_those_that_are_set(home: Home, tmp_path: Path) -> None:
    there = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    for agent in ("claude", "codex"):
        assert home.run("setup", agent, env=there).returncode == 0
    assert (tmp_path / "c" / ".claude.json").exists()
    assert (tmp_path / "c" / "skills" / "ccgrep" / "SKILL.md").exists()
    assert (tmp_path / "x" / "config.toml").exists()
    assert not (home.directory / ".claude.json").exists()


def test_the_hook_does_not_delay_the_end_of_a_session(home: Home) -> None:
    held = json.loads((PLUGIN / "hooks" / "session-end.json").read_text())
    command: str = held["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    bin_dir = home.directory / "bin"
    bin_dir.mkdir()
    slow = bin_dir / "ccgrep"
    slow.write_text("#!/bin/sh\nsleep 5\n")
    slow.chmod(0o755)
    begun = time.monotonic()
    path = f"{bin_dir}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", command], env={"PATH": path}, check=True, capture_output=True)
    assert time.monotonic() - begun < 2


def test_the_plugin_is_whole(home: Home) -> None:
    manifest: dict[str, Any] = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("ccgrep", __version__)
    assert [plugin["name"] for plugin in market["plugins"]] == ["ccgrep"]
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["ccgrep"]
    assert [server["command"], *server["args"]] == ["ccgrep", "mcp"]
    assert SKILL.startswith("---\nname: ccgrep\ndescription: ")


def test_every_command_of_the_skill_works(home: Home) -> None:
    examples = PLUGIN.parents[1] / "examples" / "home"
    there = {
        "CLAUDE_CONFIG_DIR": str(examples / ".claude"),
        "CODEX_HOME": str(examples / ".codex"),
        "CLAUDECODE": "1",
    }
    lines = [line for line in SKILL.splitlines() if line.startswith("    ccgrep ")]
    assert len(lines) == 3
    for line in lines:
        done = home.run(*shlex.split(line, comments=True)[1:], env=there)
        assert (done.returncode, done.stderr) == (0, ""), line
        assert done.stdout, line
