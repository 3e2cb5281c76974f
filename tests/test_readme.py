"""Every command in the README and every example of the manual works, on the example home."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from ccgrep.cli.parse import parse
from tests.homes import Home
from tests.terminal import environment, need, put_on_path

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "home"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^    (\S.*)", README, re.MULTILINE)
PIPES = [re.split(r"\s{2,}# ", line)[0].strip() for line in BLOCKS if line.startswith("ccgrep ")]
SHOWN = re.findall(r"^    \$ (ccgrep .*)\n((?:    [^$\n].*\n)+)", README, re.MULTILINE)
INSTALLED = [line for line in BLOCKS if line.startswith(("pip", "uv "))]
EXAMPLES = [typed for command in COMMANDS.values() for typed, _ in command.examples]
NOT_HERE = re.compile(
    "pick|model pull|--exec|blame -L|secrets|setup claude|setup codex|^ccgrep mcp|mcp add|--watch"
)
"""What asks a person, the network or a directory that is not here: only its options are checked."""
AGE = re.compile(r"\b\d+(?:mo|[ywdhm])\b")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("readme") / "home")
    put_on_path(home)
    chooser = home.directory / "bin" / "fzf"
    chooser.write_text("#!/bin/sh\nexec head -n 1\n")  # Someone who takes the first.
    chooser.chmod(0o755)
    (home.directory / "cwd").mkdir()
    return home


def run(home: Home, command: str) -> subprocess.CompletedProcess[str]:
    sources = {
        "CLAUDE_CONFIG_DIR": str(EXAMPLE / ".claude"),
        "CODEX_HOME": str(EXAMPLE / ".codex"),
    }
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**environment(home), **sources},
        cwd=home.directory / "cwd",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def options_are_known(command: str) -> None:
    for part in re.split(r"\s[|>&]+\s", command):
        words = [word.strip("'\"") for word in part.split()]
        if words[:1] == ["ccgrep"]:
            name = words[1] if words[1] in COMMANDS else "search"
            parse(COMMANDS[name], words[2:] if words[1] in COMMANDS else words[1:])


def test_there_are_ten_pipes() -> None:
    section = README.partition("## Ten pipes worth stealing")[2].partition("\n## ")[0]
    assert len(re.findall(r"^    ccgrep ", section, re.MULTILINE)) == 10
    assert len(SHOWN) == 3


@pytest.mark.parametrize("command", dict.fromkeys([*PIPES, *EXAMPLES]))
def test_commands_work(example: Home, command: str) -> None:
    if NOT_HERE.search(command):
        options_are_known(command)
        return
    if "jq" in command:
        need("jq")
    done = run(example, command.replace("/mnt/backup/home/me", str(EXAMPLE)))
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    if "ccgrep forget" in command:
        shutil.rmtree(example.store_dir)  # For the others it has never been forgotten.


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_what_the_readme_shows_is_what_is_printed(example: Home, command: str, shown: str) -> None:
    printed = AGE.sub("AGE", run(example, command).stdout)
    for line in AGE.sub("AGE", shown).splitlines():
        text = line[4:].rstrip("…").rstrip()
        assert text in printed


def test_install_commands_name_what_there_is() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert INSTALLED[:3] == ["pipx install .", "uv tool install .", "pip install ."]
    for extra in re.findall(r"(?:\.|ccgrep)\[(\w+)\]", README):
        assert f"\n{extra} = [" in project


def text_of(svg: str) -> str:
    """The words of a picture, without what differs from day to day."""
    text = re.sub(r"<[^>]*>", "", svg)
    text = re.sub(r"\d+ (?:year|month|week|day|hour|minute)s? ago", "AGO", text)
    return AGE.sub("AGE", re.sub(r"in \d+\.\d+s", "in S", text))


def test_picture_is_of_a_run_of_this_version(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "picture", tmp_path / "now.svg"],
        check=True,
        env=os.environ,
    )
    now, kept = (p.read_text("utf-8") for p in (tmp_path / "now.svg", ROOT / "docs/terminal.svg"))
    assert re.sub(r" +", " ", text_of(now)) == re.sub(r" +", " ", text_of(kept))
