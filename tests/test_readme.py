"""Every command in README, GUIDE and man pages works on the example home.

The clock of the commands is fixed, so that ages and scores are always the same.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from tests.helpers.clock import set_clock
from tests.helpers.extras import require_remote
from tests.helpers.homes import Home
from tests.helpers.hub import Hub
from tests.helpers.team_server import wheel_postgres
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
IN_TEAM = re.compile(r"\bteam\b")
IN_REMOTE = re.compile("ccgrep (remote|push|pull|sync)|--(remote|machine) ")
EDITED = "  return jwt.verify(token, key, { clockTolerance: config.clockToleranceS }) as Claims;"
SUBJECT = "auth: allow 5 s of clock skew when verifying access tokens"
NOW_S = 1_794_744_000  # 2026-11-15 12:00 UTC, when the output in the README was real


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return make_example(tmp_path_factory.mktemp("readme") / "home")


@pytest.fixture(scope="module")
def unchanged_example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """An example in which no command has added, restored or deleted a session."""
    return make_example(tmp_path_factory.mktemp("unchanged") / "home")


def make_example(directory: Path) -> Home:
    """Return the example as the user's home, with a file that its transcripts mention."""
    home = Home(directory)
    shutil.copytree(EXAMPLE, home.directory, dirs_exist_ok=True)
    for path in home.directory.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("/home/sam/", f"{home.directory}/"), encoding="utf-8")
    source = home.directory / "src" / "shopfront" / "src" / "auth" / "jwt.ts"
    source.parent.mkdir(parents=True)
    source.write_text("\n" * 20 + f"{EDITED}\n", encoding="utf-8")
    with zipfile.ZipFile(home.directory / "src" / "shopfront" / "export.zip", "w") as archive:
        archive.writestr("conversations.json", '[{"uuid": "c1", "chat_messages": []}]')
    make_repository(home.directory / "src" / "shopfront")
    put_on_path(home)
    (home.directory / "fake").mkdir()
    for path, script in {
        home.directory / "bin" / "claude": 'echo "claude $* in $PWD"',
        home.directory / "bin" / "codex": 'echo "codex $* in $PWD"',
        home.directory / "fake" / "fzf": "exec head -n 1",  # a user who chooses the first line
    }.items():
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    for path in home.directory.rglob("*"):
        os.utime(path, (NOW_S - 3600, NOW_S - 3600))
    run(home, "ccgrep index -q")
    return home


def make_repository(directory: Path) -> None:
    """Make the commit of the example's transcripts on a branch, with another hash."""
    identity = {"NAME": "Sam", "EMAIL": "sam@example.org", "DATE": "2026-08-18T09:26:23Z"}
    variables = {
        f"GIT_{who}_{k}": v for who in ("AUTHOR", "COMMITTER") for k, v in identity.items()
    }
    for command in (
        "init -q -b main",
        "config user.name Sam",
        "config user.email sam@example.org",
        "commit -q --allow-empty -m start",
        "checkout -q -b fix/flaky-login",
        "add -A",
        f"commit -q -m '{SUBJECT}'",
    ):
        subprocess.run(
            ["git", "-C", str(directory), *shlex.split(command)],
            env={"PATH": os.environ["PATH"], "HOME": str(directory), **variables},
            check=True,
        )


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    with Hub() as address:
        yield address


def run(home: Home, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    usual = set_clock(environment(home), home.directory / "clock", NOW_S)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**usual, "PATH": f"{home.directory}/fake:{usual['PATH']}", **variables},
        cwd=home.directory / "src" / "shopfront",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def test_readme_shows_six_pipes() -> None:
    section = README.partition("## Six pipes")[2].partition("\n## ")[0]
    assert len(re.findall(r"^    ccgrep ", section, re.MULTILINE)) == 6
    assert len(SHOWN) == 3


def prepare_remote(home: Home, command: str) -> str:
    """Leave the state that a command expects, and return it with addresses that exist."""
    require_remote()
    shutil.rmtree(home.store_dir / "remotes", ignore_errors=True)
    shutil.rmtree(home.directory / "nas", ignore_errors=True)
    url = f"file://{home.directory}/nas"
    if "remote add" not in command or "--key" in command:
        run(home, f"ccgrep remote add home {url} --machine-name desktop && ccgrep sync")
        run(home, "rm -f key.txt && ccgrep remote key export key.txt")
    if "remote add" in command and "--key" in command:
        run(home, "ccgrep remote remove home")
    return command.replace("file:///mnt/nas/cc", url).replace("s3://bucket/cc", url)


def prepare_team(home: Home, command: str) -> str:
    """Leave the state that a command expects, and return it with addresses that exist."""
    team = wheel_postgres().make_team()
    team.grant("bob", "*")
    shutil.rmtree(home.store_dir / "remotes", ignore_errors=True)
    if "--semantic" in command:
        run(home, "ccgrep --semantic login")  # makes vectors to push
    if "remote add" not in command:
        run(home, f"ccgrep remote add team '{team.url('bob')}' -p '*' && ccgrep push team")
        team.admin.query("update cc.document set owner = 'alice'")
        team.admin.query("update cc.session set owner = 'alice'")
    for person in ("postgres", "bob"):
        command = command.replace(f"postgres://{person}@db/cc", f"'{team.url(person)}'")
    return command


@pytest.mark.parametrize("command", [c for c in COMMANDS_SHOWN if not IN_TERMINAL.search(c)])
def test_commands_work(example: Home, hub: str, command: str) -> None:
    if "jq" in command:
        need("jq")
    if IN_TEAM.search(command):
        command = prepare_team(example, command)
    elif IN_REMOTE.search(command):
        command = prepare_remote(example, command)
    elif "unmark" in command:  # it is an error to name nothing
        run(example, "ccgrep -l auth | ccgrep mark - auth")
    elif "prune --list" in command:
        run(example, "find ~/.claude/projects -name '*.jsonl' -exec touch -d 2026-08-01 {} +")
        run(example, "ccgrep prune --older-than 90d --yes")
    done = run(
        example, command.replace("/mnt/backup/home/me", str(example.directory)), HF_ENDPOINT=hub
    )
    code = 1 if "ccgrep secrets" in command else 0  # the example has no secret
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    if "ccgrep forget" in command:
        shutil.rmtree(example.store_dir)  # for the other commands
        run(example, "ccgrep index -q")


@pytest.mark.parametrize("command", [c for c in COMMANDS_SHOWN if IN_TERMINAL.search(c)])
def test_interactive_commands_work(
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
def test_output_shown_in_the_readme_is_real(
    unchanged_example: Home, command: str, shown: str
) -> None:
    printed = run(unchanged_example, command).stdout.splitlines()
    for line in shown.splitlines():
        text = line[4:].rstrip("…").rstrip()
        assert any(other.startswith(text) for other in printed)


def test_install_commands_name_existing_extras() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert INSTALLED[:3] == ["pipx install .", "uv tool install .", "pip install ."]
    for extra in re.findall(r"(?:\.|ccgrep)\[(\w+)\]", README + GUIDE):
        assert f"\n{extra} = [" in project


def test_picture_shows_the_output_of_this_version(tmp_path: Path) -> None:
    picture = tmp_path / "now.svg"
    subprocess.run([sys.executable, ROOT / "scripts" / "picture", picture], check=True)
    hint = "run scripts/picture"
    assert picture.read_text("utf-8") == (ROOT / "docs/terminal.svg").read_text("utf-8"), hint
