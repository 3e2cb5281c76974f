"""Measures push, pull and a sync without changes, beside rclone on the same S3 server.

    python bench/remote.py [--bytes 1e9] [--files 5000]

The server is SeaweedFS on loopback. rclone copies the packs of the local store, unencrypted.
"""

import argparse
import os
import sys
import tempfile
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
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        directory = Path(scratch)
        print(generate_home(directory / "a", int(arguments.bytes), arguments.files))
        (directory / "b" / ".claude").mkdir(parents=True)
        os.environ.update(s3_servers.CREDENTIALS)
        with s3_servers.serve("seaweedfs", directory / "server") as endpoint:
            report(directory, endpoint)


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
    run(directory / "a", "sync", "--no-refresh")
    syncs, lists, starts = [], [], []
    for _ in range(_ROUNDS):
        syncs.append(run(directory / "a", "sync", "--no-refresh").seconds)
        lists.append(rclone(endpoint, "lsf", "-R", ":s3:history/cc").seconds)
        starts.append(run(directory / "a", "--version").seconds)
    ratio = Ratio(min(syncs) / min(lists), 3, "rclone lsf")
    print_row("sync, nothing new", milliseconds(min(syncs)), ratio)
    print_row("ccgrep --version", milliseconds(min(starts)))


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
