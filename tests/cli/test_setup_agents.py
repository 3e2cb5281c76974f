"""`ccgrep setup claude` and `ccgrep setup codex`, which never damage existing files."""

import json
import os
import shlex
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ccgrep import __version__
from ccgrep.search.own_output import TOOLS
from tests.helpers.homes import Home
from tests.helpers.terminal import WAIT_S, wait_until

PLUGIN = Path(__file__).parents[2] / "integrations" / "claude-code"
SKILL = (PLUGIN / "skills" / "ccgrep" / "SKILL.md").read_text(encoding="utf-8")
SETTINGS = {"model": "opus", "hooks": {"Stop": [{"hooks": []}]}, "cost": 0.1, "é": "\u200b"}


def files(home: Home) -> dict[str, str]:
    """Return the files that setup may change, and their backups."""
    return {
        str(path.relative_to(home.directory)): path.read_text(encoding="utf-8")
        for path in sorted(home.directory.rglob("*"))
        if path.is_file() and "projects" not in path.parts
    }


def folders(home: Home) -> set[Path]:
    return {path for path in home.directory.rglob("*") if path.is_dir()}


def setup(home: Home, *arguments: str, **options: Any) -> str:
    done = home.run("setup", *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_setup_claude_installs_and_removes_skill_and_server(home: Home, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ccgrep"
    program.parent.mkdir()
    program.touch(0o755)
    before, old_folders = files(home), folders(home)
    output = setup(home, "claude", env={"PATH": f"{program.parent}:{os.environ['PATH']}"})
    after = files(home)
    assert after[".claude/skills/ccgrep/SKILL.md"] == SKILL
    server = json.loads(after[".claude.json"])["mcpServers"]["ccgrep"]
    assert server["args"][-1] == "mcp"
    assert "+++ " in output
    assert "wrote: " in output
    again = setup(home, "claude", env={"PATH": f"{program.parent}:{os.environ['PATH']}"})
    assert again == "Nothing to do: everything is up to date.\n"
    assert files(home) == after
    setup(home, "claude", "--remove")
    assert (files(home), folders(home)) == (before, old_folders)


def test_setup_codex_installs_and_removes_skill_and_server(home: Home) -> None:
    config = home.directory / ".codex" / "config.toml"
    text = "# mine\nmodel = 'gpt' # a comment\n\n[mcp_servers.other]\ncommand = \"x\"\n"
    config.write_text(text)
    setup(home, "codex")
    settings = tomllib.loads(config.read_text())
    assert settings["mcp_servers"]["ccgrep"]["args"][-1] == "mcp"
    assert settings["mcp_servers"]["other"] == {"command": "x"}
    assert config.read_text().startswith(text)
    assert setup(home, "codex") == "Nothing to do: everything is up to date.\n"
    setup(home, "codex", "--remove")
    assert config.read_text() == text


def test_dry_run_prints_the_diff_and_writes_nothing(home: Home) -> None:
    (home.directory / ".claude.json").write_text('{"mcpServers": {}}')
    before = files(home)
    output = setup(home, "claude", "--dry-run", "--hook")
    assert '+{"mcpServers": {"ccgrep"' in output
    assert output.endswith("Nothing was written.\n")
    assert files(home) == before


@pytest.mark.parametrize("indent", ["  ", "    ", "\t", None])
def test_edited_settings_keep_values_style_and_mode_and_get_a_backup(
    home: Home, indent: str | None
) -> None:
    path = home.directory / ".claude" / "settings.json"
    text = json.dumps(SETTINGS, indent=indent, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o640)
    setup(home, "claude", "--hook")
    settings = json.loads(path.read_text(encoding="utf-8"))
    (event,) = settings["hooks"].pop("SessionEnd")
    assert settings.pop("permissions") == {"allow": ["Skill(ccgrep)"]}
    assert event["hooks"][0]["command"].endswith("&")
    assert settings == SETTINGS
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (backup,) = path.parent.glob("settings.json.*.ccgrep-backup")
    assert backup.read_text(encoding="utf-8") == text
    setup(home, "claude", "--remove")
    assert path.read_text(encoding="utf-8") == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


ODD_SETTINGS = (
    '{ "b":1,\n\n   "a" : [ 1,2 ]\n}',
    '{"x": {}}\n\n\n',
    "{}",
    "",
    '{"hooks": {}, "mcpServers": {}}',
    '{"hooks": {"SessionEnd": []}, "x": {}}',
    '{"permissions": {"allow": [], "deny": []}}',
    '{"permissions": {}}',
    '{"e": 1.50, "s": "\\u00e9\\/"}\r\n',
)


@pytest.mark.parametrize("text", ODD_SETTINGS)
def test_remove_restores_every_byte_and_leaves_nothing_behind(home: Home, text: str) -> None:
    for path in (home.directory / ".claude.json", home.directory / ".claude" / "settings.json"):
        path.write_text(text, newline="")
    config = home.directory / ".codex" / "config.toml"
    config.write_text("# mine\nmodel = 'gpt'", newline="")
    before, old_folders = files(home), folders(home)
    for options in ((), ("--hook",), ("--recall",), ("--recall",)):
        setup(home, "claude", *options)
    setup(home, "codex")
    assert len(files(home)) > len(before)
    for agent in ("claude", "codex"):
        setup(home, agent, "--remove")
        assert setup(home, agent, "--remove") == "Nothing to do: everything is up to date.\n"
    assert (files(home), folders(home)) == (before, old_folders)


def test_remove_keeps_what_others_changed(home: Home) -> None:
    path = home.directory / ".claude" / "settings.json"
    path.write_text('{"model": "opus"}')
    setup(home, "claude", "--recall")
    settings = json.loads(path.read_text())
    settings["theme"] = "dark"
    settings["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "mine"}]})
    path.write_text(json.dumps(settings))
    setup(home, "claude", "--remove")
    assert json.loads(path.read_text()) == {
        "model": "opus",
        "theme": "dark",
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]},
    }
    assert [name for name in files(home) if "backup" in name] == []


def test_remove_finds_hooks_of_an_earlier_version_and_another_path(home: Home) -> None:
    path = home.directory / ".claude" / "settings.json"
    commands = [
        "nohup ccgrep index --quiet --no-wait --no-embed >/dev/null 2>&1 &",
        "nohup '/opt/my ccgrep/bin/ccgrep' index --quiet --no-embed &",
    ]
    entries = [{"hooks": [{"type": "command", "command": command}]} for command in commands]
    mine = {"hooks": [{"type": "command", "command": "ccgrep index --full"}]}
    path.write_text(json.dumps({"hooks": {"SessionEnd": [*entries, mine]}}))
    setup(home, "claude", "--remove")
    assert json.loads(path.read_text()) == {"hooks": {"SessionEnd": [mine]}}


def test_recall_adds_hooks_only_if_asked(home: Home) -> None:
    path = home.directory / ".claude" / "settings.json"
    setup(home, "claude")
    assert json.loads(path.read_text()) == {"permissions": {"allow": ["Skill(ccgrep)"]}}
    setup(home, "claude", "--recall")
    hooks = json.loads(path.read_text())["hooks"]
    assert sorted(hooks) == ["SessionEnd", "SessionStart", "UserPromptSubmit"]
    assert hooks["SessionStart"][0]["matcher"] == "startup|clear"
    for agent in ("codex", "shell"):
        done = home.run("setup", agent, "--recall")
        assert (done.returncode, "--recall only with `ccgrep setup claude`" in done.stderr) == (
            2, True,
        )  # fmt: skip


def make_program(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.mark.parametrize("kind", ["installed", "active environment", "not on the PATH"])
def test_absolute_path_is_written_where_the_name_is_not_enough(home: Home, kind: str) -> None:
    program = home.directory / "my tools" / "bin" / "ccgrep"
    make_program(program)
    variables = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    expected = "ccgrep"
    if kind == "active environment":
        variables["VIRTUAL_ENV"] = str(program.parents[1])
        expected = str(program)
    elif kind == "not on the PATH":
        variables["PATH"] = "/usr/bin:/bin"
        beside = Path(sys.executable).with_name("ccgrep")
        expected = str(beside) if beside.exists() else sys.executable
    assert home.run("setup", "claude", "--recall", env=variables).returncode == 0
    written = files(home)
    server = json.loads(written[".claude.json"])["mcpServers"]["ccgrep"]
    assert server["command"] == expected
    quoted = shlex.quote(expected)
    assert f"\n    {quoted} " in written[".claude/skills/ccgrep/SKILL.md"]
    assert f"Bash({quoted} " in written[".claude/skills/ccgrep/SKILL.md"]
    hooks = json.loads(written[".claude/settings.json"])["hooks"]
    assert hooks["SessionStart"][0]["hooks"][0]["command"].startswith(f"{quoted} ")
    assert hooks["SessionEnd"][0]["hooks"][0]["command"].startswith(f"nohup nice {quoted} ")


def test_existing_server_entry_is_kept(home: Home) -> None:
    path = home.directory / ".claude.json"
    mine = {"command": "/opt/ccgrep", "args": ["mcp", "-home-me-*"]}
    path.write_text(json.dumps({"mcpServers": {"ccgrep": mine}}))
    setup(home, "claude")
    assert json.loads(path.read_text()) == {"mcpServers": {"ccgrep": mine}}


def test_linked_settings_file_stays_a_link(home: Home) -> None:
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
    "a trailing comma": '{"model": "opus",}',
    "a list": "[]",
    "a duplicate key": '{"model": 1, "model": 2}',
    "NaN": '{"x": NaN}',
    "a number that would change": '{"x": 0.10000000000000000000001}',
    "hooks of another type": '{"hooks": []}',
    "an event of another type": '{"hooks": {"SessionEnd": {}}}',
    "a byte order mark": "\ufeff{}",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_invalid_settings_file_stops_setup_before_any_write(home: Home, text: str) -> None:
    path = home.directory / ".claude" / "settings.json"
    path.write_text(text, encoding="utf-8")
    before = files(home)
    done = home.run("setup", "claude", "--hook")
    assert done.returncode == 2
    assert "cannot edit " in done.stderr
    assert files(home) == before


@pytest.mark.parametrize("text", ["model = ", "[mcp_servers]\nccgrep = {}\n", "mcp_servers = {}\n"])
def test_codex_configuration_that_would_become_invalid_is_not_changed(
    home: Home, text: str
) -> None:
    path = home.directory / ".codex" / "config.toml"
    path.write_text(text)
    before = files(home)
    assert home.run("setup", "codex").returncode == 2
    assert files(home) == before


def test_foreign_skill_of_the_same_name_is_not_changed(home: Home) -> None:
    path = home.directory / ".claude" / "skills" / "ccgrep" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: mine\n---\n")
    assert home.run("setup", "claude").returncode == 2
    assert home.run("setup", "claude", "--remove").returncode == 2
    assert path.read_text() == "---\nname: mine\n---\n"


def test_setup_uses_the_configured_agent_directories(home: Home, tmp_path: Path) -> None:
    variables = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    for agent in ("claude", "codex"):
        assert home.run("setup", agent, env=variables).returncode == 0
    assert (tmp_path / "c" / ".claude.json").exists()
    assert (tmp_path / "c" / "skills" / "ccgrep" / "SKILL.md").exists()
    assert (tmp_path / "x" / "config.toml").exists()
    assert not (home.directory / ".claude.json").exists()


def test_hook_runs_in_the_background(home: Home) -> None:
    settings = json.loads((PLUGIN / "hooks" / "session-end.json").read_text())
    command: str = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    bin_dir = home.directory / "bin"
    bin_dir.mkdir()
    gate = home.directory / "gate"
    os.mkfifo(gate)
    blocked = bin_dir / "ccgrep"
    blocked.write_text(f"#!/bin/sh\ncat {shlex.quote(str(gate))} > {home.directory}/passed\n")
    blocked.chmod(0o755)
    path = f"{bin_dir}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["sh", "-c", command], env={"PATH": path}, check=True, capture_output=True, timeout=WAIT_S
    )
    gate.write_text("go")  # blocks until the background process reads it
    passed = home.directory / "passed"
    wait_until(lambda: passed.exists() and passed.read_text() == "go", "the hook did not run")


def test_plugin_files_agree(home: Home) -> None:
    manifest: dict[str, Any] = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("ccgrep", __version__)
    assert [plugin["name"] for plugin in market["plugins"]] == ["ccgrep"]
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["ccgrep"]
    assert [server["command"], *server["args"]] == ["ccgrep", "mcp"]
    assert SKILL.startswith("---\nname: ccgrep\ndescription: ")


def test_skill_allows_only_read_only_commands() -> None:
    (line,) = (line for line in SKILL.splitlines() if line.startswith("allowed-tools: "))
    allowed = line.removeprefix("allowed-tools: ").split(", ")
    commands = {rule for rule in allowed if rule.startswith("Bash(")}
    read_only = ("search", "show", "list", "blame", "brief")
    assert commands == {f"Bash(ccgrep {name}:*)" for name in read_only}
    servers = ("mcp__ccgrep__", "mcp__plugin_ccgrep_ccgrep__")
    assert set(allowed) - commands == {f"{server}{tool}" for server in servers for tool in TOOLS}


def test_every_command_in_the_skill_works(home: Home) -> None:
    examples = PLUGIN.parents[1] / "examples" / "home"
    variables = {
        "CLAUDE_CONFIG_DIR": str(examples / ".claude"),
        "CODEX_HOME": str(examples / ".codex"),
        "CLAUDECODE": "1",
    }
    lines = [line for line in SKILL.splitlines() if line.startswith("    ccgrep ")]
    assert len(lines) == 3
    for line in lines:
        done = home.run(*shlex.split(line, comments=True)[1:], env=variables)
        notes = [note for note in done.stderr.splitlines() if "--all leaves them out" not in note]
        assert (done.returncode, notes) == (0, []), line
        assert done.stdout, line
