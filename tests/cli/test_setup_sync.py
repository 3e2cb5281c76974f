"""`ccgrep setup sync` installs a timer and takes it away."""

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from ccgrep.cli.setup_sync import _launchd
from tests.helpers.homes import Home

NO_REMOTE = "ccgrep: there is no remote yet: run `ccgrep remote add NAME URL`\n"


def make_systemctl(home: Home) -> Path:
    """Put a systemctl on the PATH that records how it is called, and return the record."""
    folder, calls = home.directory / "bin", home.directory / "calls"
    folder.mkdir()
    script = folder / "systemctl"
    script.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\n')
    script.chmod(0o755)
    return calls


def test_timer_is_installed_and_removed(home: Home) -> None:
    calls = make_systemctl(home)
    env = {"PATH": f"{home.directory}/bin:{home.environment['PATH']}"}
    folder = home.directory / ".config" / "systemd" / "user"
    done = home.run("setup", "sync", "--every", "2h", "--dry-run", env=env)
    assert (done.returncode, done.stderr) == (0, NO_REMOTE)
    assert not folder.exists()
    assert not calls.exists()
    keys = {"AWS_ACCESS_KEY_ID": "name", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_PROFILE": "cc"}
    done = home.run("setup", "sync", "--every", "2h", env=env | keys)
    assert done.stdout.splitlines() == [
        f"wrote: {folder}/ccgrep-sync.service",
        f"wrote: {folder}/ccgrep-sync.timer",
        "the timer does not get AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: run `aws configure`",
    ]
    assert "hidden" not in "".join(path.read_text() for path in folder.iterdir())
    assert "OnUnitActiveSec=7200s" in (folder / "ccgrep-sync.timer").read_text()
    service = (folder / "ccgrep-sync.service").read_text()
    assert 'Environment="AWS_PROFILE=cc"\n' in service
    assert f'Environment="CCGREP_DIR={home.store_dir}"\n' in service
    assert '"sync" "--quiet"\n' in service
    done = home.run("setup", "sync", "--remove", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    assert calls.read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now ccgrep-sync.timer",
        "--user disable --now ccgrep-sync.timer",
        "--user daemon-reload",
    ]


def test_units_are_valid(home: Home) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd")
    make_systemctl(home)
    env = {"PATH": f"{home.directory}/bin:{home.environment['PATH']}", "AWS_PROFILE": 'a "b" %h $c'}
    home.run("setup", "sync", env=env)
    units = sorted((home.directory / ".config" / "systemd" / "user").iterdir())
    # The system's own units put sockets below HOME, whose paths must be short.
    done = subprocess.run(
        [program, "--user", "--man=no", "verify", *map(str, units)],
        env={"HOME": "/", "XDG_RUNTIME_DIR": "/run"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_mistakes_are_named(home: Home) -> None:
    done = home.run("setup", "sync", "--every", "soon")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: invalid time 'soon' for --every: use a number and m, h or d\n",
    )
    assert home.run("setup", "shell", "--every", "1h").returncode == 2
    assert home.run("setup", "sync", "--hook").returncode == 2


def test_agent_of_launchd_is_valid() -> None:
    (target,) = _launchd({"HOME": "/Users/a & b", "CCGREP_DIR": "/x<y"}, 900)
    assert target.path == "/Users/a & b/Library/LaunchAgents/ccgrep-sync.plist"
    agent = plistlib.loads(target.text.encode())
    assert (agent["StartInterval"], agent["ProgramArguments"][-2:]) == (900, ["sync", "--quiet"])
    assert agent["EnvironmentVariables"] == {"CCGREP_DIR": "/x<y"}
