"""Measures `ccgrep stats`, `log` and `list` on a million turns, which must take one second each.

    python bench/stats.py [--turns N] [--rounds N]
    python bench/stats.py --log [--turns N]    `log` and `list`, on a home that is indexed first

An index of a million turns takes ten minutes. `stats` is measured on made-up tallies instead. They
are shaped like those of real transcripts: five turns per session, eight API messages and nine tool
calls per turn, and a tenth of the turns in two places. The figures are those of the whole command,
warm.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.budget import Ratio, print_row
from bench.home import generate_home
from bench.measure import run_best
from ccgrep.stats.column_file import Array, encode
from ccgrep.stats.safety import RULES_VERSION
from ccgrep.stats.shard_tally import NO_COST, SCHEMA, WORD_KINDS, Rate, ShellUse
from ccgrep.store import tally_files
from ccgrep.store.commit import Commit
from ccgrep.store.lifecycle import create_store
from ccgrep.store.manifest import Shard, SourceFile
from ccgrep.store.store import Store

_SHARDS = 256
_MAX_SECONDS = 1
_CCGREP = [sys.executable, "-m", "ccgrep"]
_STATS = (
    "stats", "stats tools", "stats bash", "stats tokens", "stats cost",
    "stats cost --by session -n 10", "stats bash --suggest",
)  # fmt: skip
_LOG = (
    "list", "list --tag todo", "log -n 10", "log -n 1000", "log the -n 10", "log --tag todo",
)  # fmt: skip
_FILES = 5000
_TURNS_PER_SESSION = 5
_ROWS_PER_TURN = {"model": 1, "tool": 4, "bash": 3, "usage": 1, "key": 8}
_WORDS = {
    "source": ["claude_code", "codex"],
    "project": [f"/home/sam/src/project-{n}" for n in range(40)],
    "branch": ["", *(f"fix/{n}" for n in range(60))],
    "model": ["claude-opus-5", "claude-sonnet-5", "gpt-5-codex"],
    "rate": [
        Rate(model, context).encode()
        for model in ("claude-opus-5", "claude-sonnet-5", "gpt-5-codex")
        for context in (0, 1)
    ],
    "tool": [f"Tool{n}" for n in range(40)],
    "use": [ShellUse(f"command{n}", "", n % 4, "-Can write").encode() for n in range(500)],
}


def make_tally(rng: np.random.Generator, turns: int) -> bytes:
    """Return the tally of a shard."""
    sessions = max(turns // _TURNS_PER_SESSION, 1)
    sizes = {"session": sessions, "turn": turns}
    sizes |= {table: turns * times for table, times in _ROWS_PER_TURN.items()}
    columns: dict[str, Array] = {}
    for table, names in SCHEMA.items():
        for name, dtype in names.items():
            columns[f"{table}.{name}"] = _make_column(rng, table, name, dtype, sizes)
    return encode(columns, _WORDS)


def _make_column(
    rng: np.random.Generator, table: str, name: str, dtype: str, sizes: dict[str, int]
) -> Array:
    size = sizes[table]
    if name == "id":
        return np.array([rng.bytes(18).hex().encode() for _ in range(size)])
    if name == "parent":
        return np.zeros(size, dtype="S1")
    if name == "client_cost":  # of every tenth session
        costs = rng.integers(0, 10**12, size)
        return np.where(costs % 10, NO_COST, costs).astype(dtype)
    if (kind := WORD_KINDS.get(f"{table}.{name}")) is not None:
        return rng.integers(0, len(_WORDS[kind]), size).astype(dtype)
    if name in ("session", "turn"):
        return np.sort(rng.integers(0, sizes[name], size)).astype(dtype)
    if name == "started":
        return rng.integers(1_700_000_000_000, 1_790_000_000_000, size).astype(dtype)
    if name in ("object", "key"):
        # A tenth comes from a range so small that other shards have the same values.
        values = rng.integers(0, 2**63, size, dtype=np.uint64)
        shared = rng.random(size) < 0.1
        values[shared] = rng.integers(0, size * 10, int(shared.sum()), dtype=np.uint64)
        return values.astype(dtype)
    most = {"source": 2, "kind": 4}.get(name, 2000)
    return rng.integers(0, most, size).astype(dtype)


def make_store(directory: str, turns: int) -> Store:
    """Make a store of empty shards with tallies that claim they have turns."""
    store = create_store(directory)
    rng = np.random.default_rng(7)
    with Commit(store) as commit:
        mark = SourceFile("", "", 0, 0, 0, 0)
        ids = {f"{n:02x}": commit.put("shard", Shard()) for n in range(_SHARDS)}
        commit.snapshot = replace(commit.snapshot, shards=ids)
        commit.commit(1, hints=(mark,))
    folder = os.path.join(tally_files.tallies_dir(store), tally_files.version_name(RULES_VERSION))
    for name in tally_files.shard_files(store.snapshot()).values():
        tally_files.publish(store, folder, name, make_tally(rng, turns // _SHARDS))
    return store


def report_stats(top: str, environment: Mapping[str, str], turns: int, rounds: int) -> None:
    make_store(f"{top}/store", turns)
    print(f"{turns:,} turns")
    first = run_best([*_CCGREP, "stats", "--no-refresh"], environment, 1)
    print_row("stats, finding duplicates once", f"{first.seconds:.2f} s")
    for command in _STATS:
        _report(command.split(), environment, rounds)


def report_log(home: str, environment: Mapping[str, str], turns: int, rounds: int) -> None:
    """Report `log` and `list`. The newest and the oldest session are marked."""
    print(generate_home(Path(home), 0, _FILES, turns))
    run_best([*_CCGREP, "index"], environment, 1)
    listed = run_best([*_CCGREP, "list", "--no-refresh"], environment, 1).output.splitlines()
    for line in (listed[0], listed[-1]):
        run_best([*_CCGREP, "mark", f"{line.split()[0]}:0", "todo"], environment, 1)
    print(f"{turns:,} turns")
    for command in _LOG:
        _report(command.split(), environment, rounds)


def _report(command: list[str], environment: Mapping[str, str], rounds: int) -> None:
    run = run_best([*_CCGREP, *command, "--no-refresh"], environment, rounds)
    ratio = Ratio(run.seconds / _MAX_SECONDS, 1, f"{_MAX_SECONDS} s")
    print_row(" ".join(command), f"{run.seconds:.2f} s", ratio)
    print_row("  memory", str(run.peak))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--log", action="store_true", help="measure `log` and `list`")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as top:
        source = str(Path(__file__).parents[1] / "src")
        environment = {"PATH": os.environ["PATH"], "HOME": top, "CCGREP_DIR": f"{top}/store"}
        environment |= {"PYTHONPATH": source, "CCGREP_EMBED": "never"}
        report = report_log if arguments.log else report_stats
        report(top, environment, arguments.turns, arguments.rounds)


if __name__ == "__main__":
    main()
