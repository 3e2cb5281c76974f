"""Real S3 servers on loopback: SeaweedFS, and rclone, which ignores preconditions."""

import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "tester-secret",
    "AWS_REGION": "us-east-1",
}
SERVERS = ("seaweedfs", "rclone")
_BUCKET = "history"
_START_S = 60


@contextmanager
def serve(kind: str, directory: Path) -> Iterator[str]:
    """Run a server with one bucket, and yield its endpoint."""
    directory.mkdir()
    program = find_program({"seaweedfs": "weed", "rclone": "rclone"}[kind])
    port = _free_port()
    command = [program, *(_weed if kind == "seaweedfs" else _rclone)(directory, port)]
    log = (directory.parent / f"{kind}.log").open("wb")
    # Without credentials of its own, SeaweedFS accepts any.
    environment = {"HOME": str(directory), "PATH": os.environ["PATH"]}
    server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=directory)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        # rclone has the bucket already, and refuses a request without credentials.
        _wait_until_ready(endpoint, server, {200} if kind == "seaweedfs" else {400, 403})
        yield endpoint
    finally:
        server.kill()
        server.wait()
        log.close()


def url(prefix: str) -> str:
    return f"s3://{_BUCKET}/{prefix}"


def _weed(directory: Path, port: int) -> list[str]:
    ports = {name: _free_port() for name in ("master", "volume", "filer")}
    grpc = {f"{name}.port.grpc": _free_port() for name in ("master", "volume", "filer", "s3")}
    options = {
        "ip": "127.0.0.1",
        "dir": str(directory),
        "volume.max": "20",
        "master.volumeSizeLimitMB": "1024",
        "s3.port": str(port),
        # Otherwise two servers want the same ports.
        "s3.port.iceberg": "0",
        "s3.port.lance": "0",
        **{f"{name}.port": str(number) for name, number in ports.items()},
        **{name: str(number) for name, number in grpc.items()},
    }
    return ["server", "-filer", "-s3", *(f"-{name}={value}" for name, value in options.items())]


def _rclone(directory: Path, port: int) -> list[str]:
    (directory / _BUCKET).mkdir()
    key = f"{CREDENTIALS['AWS_ACCESS_KEY_ID']},{CREDENTIALS['AWS_SECRET_ACCESS_KEY']}"
    return ["serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", key, str(directory)]


def _wait_until_ready(endpoint: str, server: "subprocess.Popen[bytes]", statuses: set[int]) -> None:
    """Create the bucket, as soon as the server answers."""
    deadline = time.monotonic() + _START_S
    status = 0
    while True:
        assert server.poll() is None, "the server has ended"
        try:
            connection = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=5)
            connection.request("PUT", f"/{_BUCKET}")
            if (status := connection.getresponse().status) in statuses:
                return
        except OSError:
            pass
        assert time.monotonic() < deadline, f"the server does not answer ({status})"
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def find_program(name: str) -> str:
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed (scripts/test installs it)")
    return found
