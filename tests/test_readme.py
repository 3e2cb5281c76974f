"""Every command in the README and every example of the manual works, on the example home."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from tests.helpers.homes import Home
from tests.helpers.hub import Hub
from tests.helpers.terminal import Terminal, environment, need, put_on_path

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "home"
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "GUIDE.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^    (\S.*)", README + GUIDE, re.MULTILINE)
PIPES = [re.split(r"\s{2,}# ", line)[0].strip() for line in BLOCKS if line.startswith("ccgrep ")]
SHOWN = re.findall(r"^    \$ (ccgrep .*)\n((?:    [^$\n].*\n)+)", README, re.MULTILINE)
INSTALLED = [line for line in BLOCKS if line.startswith(("pip", "uv "))]
EXAMPLES = [typed for command in COMMANDS.values() for typed, _ in command.examples]
COMMANDS_SHOWN = [*dict.fromkeys([*PIPES, *EXAMPLES])]
IN_TERMINAL = re.compile("ccgrep pick")
EDITED = "  return jwt.verify(token, key, { clockTolerance: config.clockToleranceS }) as Claims;"
AGE = re.compile(r"\b\d+(?:mo|[ywdhm])\b")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The example as the home of somebody who lives here, with the files that it speaks of."""
    home = Home(tmp_path_factory.mktemp("readme") / "home")
    shutil.copytree(EXAMPLE, home.directory, dirs_exist_ok=True)
    for path in home.directory.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("/home/sam/", f"{home.directory}/"), encoding="utf-8")
    source = home.directory / "src" / "shopfront" / "src" / "auth" / "jwt.ts"
    source.parent.mkdir(parents=True)
    source.write_text("\n" * 20 + f"{EDITED}\n", encoding="utf-8")
    put_on_path(home)
    (home.directory / "hands").mkdir()
    for path, script in {
        home.directory / "bin" / "claude": 'echo "claude $* in $PWD"',
        home.directory / "hands" / "fzf": "exec head -n 1",  # Someone who takes the first.
    }.items():
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    run(home, "ccgrep index -q")
    return home


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    with Hub() as address:
        yield address


def run(home: Home, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    usual = environment(home)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**usual, "PATH": f"{home.directory}/hands:{usual['PATH']}", **variables},
        cwd=home.directory / "src" / "shopfront",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def test_readme_shows_six_pipes() -> None:
    section = README.partition("## Six pipes")[2].partition("\n## ")[0]
    assert len(re.findall(r"^    ccgrep ", section, re.MULTILINE)) == 6
    assert len(SHOWN) == 3


@pytest.mark.parametrize("command", [c for c in COMMANDS_SHOWN if not IN_TERMINAL.search(c)])
def test_commands_work(example: Home, hub: str, command: str) -> None:
    if "jq" in command:
        need("jq")
    done = run(
        example, command.replace("/mnt/backup/home/me", str(example.directory)), HF_ENDPOINT=hub
    )
    code = 1 if "ccgrep secrets" in command else 0  # The example has none.
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    if "ccgrep forget" in command:
        shutil.rmtree(example.store_dir)  # For the others it has never been forgotten.
        run(example, "ccgrep index -q")


@pytest.mark.parametrize("command", [c for c in COMMANDS_SHOWN if IN_TERMINAL.search(c)])
def test_commands_that_ask_a_person_work(
    example: Home, tmp_path_factory: pytest.TempPathFactory, command: str
) -> None:
    need("fzf", "tmux")
    terminal = Terminal(example, tmp_path_factory.mktemp("t"))
    terminal.type(f"clear; {command}; echo left with $?")
    terminal.press("Enter")
    terminal.wait(lambda screen: bool(re.search(r"[1-9]\d*/\d+", screen)))
    terminal.press("Enter")
    terminal.wait(lambda screen: "left with 0" in screen)
    terminal.close()


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_what_the_readme_shows_is_what_is_printed(example: Home, command: str, shown: str) -> None:
    printed = AGE.sub("AGE", run(example, command).stdout)
    for line in AGE.sub("AGE", shown).splitlines():
        text = line[4:].rstrip("…").rstrip()
        assert text in printed


def test_install_commands_name_what_there_is() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert INSTALLED[:3] == ["pipx install .", "uv tool install .", "pip install ."]
    for extra in re.findall(r"(?:\.|ccgrep)\[(\w+)\]", README + GUIDE):
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
