"""Measures push, pull and a sync without changes, beside rclone on the same S3 server.

    python bench/remote.py [--bytes 1e9] [--files 5000] [--sessions 50000]

The server is SeaweedFS on loopback. rclone copies the packs of the local store, unencrypted. The
sync without changes is also measured with many small sessions, beside one LIST request.
"""

import argparse
import http.client
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.home import generate_home
from tests.helpers import s3_servers

_ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--sessions", type=int, default=50_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        directory = Path(scratch)
        print(generate_home(directory / "a", int(arguments.bytes), arguments.files))
        (directory / "b" / ".claude").mkdir(parents=True)
        os.environ.update(s3_servers.CREDENTIALS)
        with s3_servers.serve("seaweedfs", directory / "server") as endpoint:
            report(directory, endpoint)
            print(generate_home(directory / "c", 3000 * arguments.sessions, arguments.sessions))
            report_many(directory, endpoint)


def report(directory: Path, endpoint: str) -> None:
    add = ["remote", "add", "r", s3_servers.url("cc"), "--endpoint", endpoint]
    run(directory / "a", "index", "-q")
    run(directory / "a", *add)
    run(directory / "a", "remote", "key", "export", str(directory / "key"))
    run(directory / "b", *add, "--key", str(directory / "key"))
    packs = directory / "a" / "store" / "objects" / "pack"
    size = sum(path.stat().st_size for path in packs.glob("*.pack"))
    pushed = run(directory / "a", "push", "--no-refresh")
    copied = rclone(endpoint, "copy", "--include", "*.pack", str(packs), ":s3:history/copy")
    rate = f"{size / 1e6:.0f} MB in {pushed.seconds:.1f} s"
    print_row("first push", rate, Ratio(pushed.seconds / copied.seconds, 1.5, "rclone copy"))
    print_memory("first push, memory", pushed.peak, 400)
    pulled = run(directory / "b", "pull")
    rate = f"{size / 1e6:.0f} MB in {pulled.seconds:.1f} s"
    print_row("first pull, with its index", rate)
    print_memory("first pull, memory", pulled.peak, 400)
    report_idle(directory / "a", endpoint, "cc")


def report_many(directory: Path, endpoint: str) -> None:
    """Measure what depends on the number of sessions."""
    home = directory / "c"
    run(home, "index", "-q")
    run(home, "remote", "add", "r", s3_servers.url("many"), "--endpoint", endpoint)
    pushed = run(home, "push", "--no-refresh")
    print_row("many sessions, first push", f"{pushed.seconds:.1f} s")
    print_memory("many sessions, first push, memory", pushed.peak, 400)
    report_idle(home, endpoint, "many")


def report_idle(home: Path, endpoint: str, prefix: str) -> None:
    """Measure a sync without changes, whose only request is one LIST."""
    run(home, "sync", "--no-refresh")
    syncs, copies, lists, starts = [], [], [], []
    for _ in range(_ROUNDS):
        syncs.append(run(home, "sync", "--no-refresh"))
        copies.append(rclone(endpoint, "lsf", "-R", f":s3:history/{prefix}").seconds)
        lists.append(list_once(endpoint, prefix))
        starts.append(run(home, "--version").seconds)
    best = min(sync.seconds for sync in syncs)
    print_row("sync, nothing new", milliseconds(best), Ratio(best / min(copies), 3, "rclone lsf"))
    print_memory("sync, nothing new, memory", max(sync.peak for sync in syncs), 400)
    print_row("one LIST request", milliseconds(min(lists)))
    print_row("ccgrep --version", milliseconds(min(starts)))


def list_once(endpoint: str, prefix: str) -> float:
    """Return how long the server takes for one LIST request, without a client's start."""
    started = time.perf_counter()
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    connection.request("GET", f"/history?list-type=2&prefix={prefix}%2F")
    connection.getresponse().read()
    connection.close()
    return time.perf_counter() - started


def run(home: Path, *arguments: str) -> measure.Run:
    environment = {
        **os.environ,
        "HOME": str(home),
        "CCGREP_DIR": str(home / "store"),
        "CCGREP_EMBED": "never",
    }
    return measure.run([sys.executable, "-m", "ccgrep", *arguments], environment)


def rclone(endpoint: str, *arguments: str) -> measure.Run:
    options = ["--s3-provider", "SeaweedFS", "--s3-env-auth", "--s3-endpoint", endpoint]
    program = s3_servers.find_program("rclone")
    return measure.run([program, *options, "--s3-no-check-bucket", *arguments], dict(os.environ))


if __name__ == "__main__":
    main()
