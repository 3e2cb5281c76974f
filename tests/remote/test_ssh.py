"""Remotes on another host, through a real sshd on loopback with a key of the test's own."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.extras import require_remote
from tests.helpers.fleet import conversations
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.terminal import put_on_path

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])


@pytest.fixture
def ssh_command(tmp_path: Path) -> Iterator[str]:
    """Run an sshd, and yield the command that reaches it."""
    require_remote()
    if SSHD is None or os.geteuid() != 0:
        pytest.skip("no sshd (scripts/tools installs it), or not root")
    host = Home(tmp_path / "host")
    put_on_path(host)
    for name in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(command, check=True)
    shutil.copyfile(tmp_path / "user_key.pub", tmp_path / "authorized_keys")
    Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    variables = " ".join(
        f'{name}="{value}"' for name, value in {**host.environment, **host_path(host)}.items()
    )
    settings = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": tmp_path / "host_key",
        "AuthorizedKeysFile": tmp_path / "authorized_keys",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PasswordAuthentication": "no",
        "SetEnv": variables,
    }
    config = tmp_path / "sshd_config"
    config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    log = (tmp_path / "sshd.log").open("wb")
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=log)
    try:
        wait_until_open(port)
        user = pwd.getpwuid(os.geteuid()).pw_name
        yield (
            f"ssh -F none -p {port} -l {user} -i {tmp_path}/user_key -o BatchMode=yes "
            f"-o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=no -o LogLevel=ERROR"
        )
    finally:
        server.kill()
        server.wait()
        log.close()


def host_path(host: Home) -> dict[str, str]:
    return {"PATH": f"{host.directory}/bin:{os.environ['PATH']}"}


def wait_until_open(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            assert time.monotonic() < deadline, "sshd does not answer"
            time.sleep(0.05)
        else:
            return


def run(home: Home, *arguments: str) -> str:
    done = home.run(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_machines_meet_on_a_host(ssh_command: str, tmp_path: Path) -> None:
    url = f"ssh://127.0.0.1{tmp_path}/shared folder"
    laptop, desktop = Home(tmp_path / "laptop"), Home(tmp_path / "desktop")
    file = write_session(laptop, 1)
    write_session(desktop, 2)
    run(laptop, "remote", "add", "h", url, "--ssh-command", ssh_command)
    key = str(tmp_path / "key")
    run(laptop, "remote", "key", "export", key)
    run(desktop, "remote", "add", "h", url, "--ssh-command", ssh_command, "--key", key)
    for home in (laptop, desktop, laptop):
        run(home, "sync")
    assert conversations(laptop) == conversations(desktop)
    assert len(conversations(laptop)) == 2
    run(desktop, "forget", file.id)
    for home in (desktop, laptop, desktop):
        run(home, "sync")
    assert conversations(laptop) == conversations(desktop)
    assert len(list((tmp_path / "shared folder" / "forgotten").iterdir())) > 0
    run(laptop, "fsck", "--remote", "h", "--read-data")


def test_host_that_does_not_answer_is_named(tmp_path: Path) -> None:
    require_remote()
    home = Home(tmp_path / "home")
    done = home.run("remote", "add", "h", "ssh://nowhere/x", "--ssh-command", "false")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: the connection to ssh://nowhere/x ended: check that `ssh` reaches the host, and "
        "that `ccgrep` is on the PATH there\n",
    )
    assert home.run("remote", "add", "h", "ssh://-oProxyCommand=x/y").returncode == 2
