"""Measures building the store, with and without original bytes, against decoding every line once.

python bench/store.py [HOME]       a home with .claude and .codex (default: a generated one)
python bench/store.py --bytes 1e8  a smaller generated home

The builds take turns, and the ratios are those of the fastest ones. On a busy machine, compare
processor times instead.
"""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.generate import generate

_DECODE = """
import msgspec, os, sys, time
decode = msgspec.json.Decoder().decode
started = time.monotonic()
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), "rb") as file:
                for line in file:
                    try:
                        decode(line)
                    except (msgspec.MsgspecError, UnicodeDecodeError):
                        pass
print(time.monotonic() - started)
"""


class Build(NamedTuple):
    """A first build: wall and processor seconds, peak memory, and bytes of the store."""

    seconds: float
    processor_s: float
    peak: measure.Memory
    size: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--rounds", type=int, default=2, help="builds of each kind (default 2)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        home = arguments.home
        if home is None:
            home = Path(scratch) / "home"
            files = max(int(arguments.bytes / 200_000), 10)
            print(generate(home, int(arguments.bytes), files))
        report(home.absolute(), Path(scratch) / "store", arguments.rounds)


def report(home: Path, store: Path, rounds: int) -> None:
    paths = [p for p in home.rglob("*.jsonl") if p.is_file()]
    folders = (home / ".claude", home / ".codex")
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in files)  # with outputs, which are stored too
    environment = {**os.environ, "HOME": str(home), "CCGREP_DIR": str(store)}
    environment |= {"CCGREP_EMBED": "never", "XDG_CACHE_HOME": f"{store}-cache"}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        environment.pop(name, None)
    ccgrep = [sys.executable, "-m", "ccgrep"]
    kinds = {"turns": [*ccgrep], "turns, one core": ["taskset", "-c", "0", *ccgrep], "all": ccgrep}

    decodes, builds = [], dict[str, list[Build]]()
    for _ in range(rounds):
        decodes.append(_seconds([sys.executable, "-c", _DECODE, str(home)]))
        for kind, command in kinds.items():
            keep = {"CCGREP_KEEP": kind.partition(",")[0]}
            builds.setdefault(kind, []).append(_build(command, environment | keep, store))
    again = measure.run([*ccgrep, "index", "--json"], environment)
    counts = json.loads(again.output)

    print(f"{len(paths):,} files, {size / 1e6:,.0f} MB")
    print_row("decode every line once", f"{min(decodes):.2f} s")
    best = {kind: min(runs) for kind, runs in builds.items()}
    _print_builds(best, min(decodes), size)
    print_row("stat of every file", milliseconds(_stat_seconds(paths)))
    print_row("index, nothing changed", milliseconds(float(counts["seconds"])))
    print_row("  bytes parsed, objects added", f"{counts['bytes_parsed']}, {counts['new_objects']}")
    shutil.rmtree(store)


def _build(command: list[str], environment: Mapping[str, str], store: Path) -> Build:
    """Build the store from scratch."""
    shutil.rmtree(store, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = measure.run([*command, "index", "-q"], environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    return Build(run.seconds, processor_s, run.peak, size)


def _print_builds(best: Mapping[str, Build], decode: float, size: int) -> None:
    turns, one_core, both = best["turns"], best["turns, one core"], best["all"]
    ratios = {
        "turns": [
            Ratio(turns.seconds / decode, 8, "the above"),
            Ratio(turns.seconds / one_core.seconds, 0.6, "one core"),
        ],
        "all": [Ratio(both.seconds / turns.seconds, 1.25, 'keep = "turns"')],
    }
    shares = {"turns": 0.17, "turns, one core": 0.17, "all": 0.3}
    for kind, build in best.items():
        print_row(f"index, keep {kind}", f"{build.seconds:.2f} s", *ratios.get(kind, []))
        print_row("  processor time", f"{build.processor_s:.2f} s")
        print_memory("  anonymous memory", build.peak, 400)
        share = Ratio(build.size / size, shares[kind], "transcripts")
        print_row("  store", f"{build.size / 1e6:.1f} MB", share)


def _seconds(command: list[str]) -> float:
    return float(measure.run(command).output)


def _stat_seconds(paths: list[Path]) -> float:
    started = time.monotonic()
    for path in paths:
        path.stat()
    return time.monotonic() - started


if __name__ == "__main__":
    main()
