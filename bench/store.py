"""Measures building the store against decoding every line once, and the size of the packs.

python bench/store.py [HOME]       a home with .claude and .codex (default: a generated one)
python bench/store.py --bytes 1e8  a smaller generated home
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--bytes", type=float, default=1e9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        home = arguments.home
        if home is None:
            home = Path(scratch) / "home"
            files = max(int(arguments.bytes / 200_000), 10)
            print(generate(home, int(arguments.bytes), files))
        report(home, Path(scratch) / "store")


def report(home: Path, store: Path) -> None:
    paths = [p for p in home.rglob("*.jsonl") if p.is_file()]
    size = sum(path.stat().st_size for path in paths)
    environment = {**os.environ, "HOME": str(home), "CCGREP_DIR": str(store)}
    environment["CCGREP_EMBED"] = "never"
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        environment.pop(name, None)
    ccgrep = [sys.executable, "-m", "ccgrep"]

    decode = min(_seconds([sys.executable, "-c", _DECODE, str(home)]) for _ in range(2))
    build = measure.run([*ccgrep, "index", "-q"], environment)
    packs = sum(p.stat().st_size for p in (store / "objects" / "pack").iterdir())
    again = measure.run([*ccgrep, "index", "--json"], environment)
    counts = json.loads(again.output)
    no_op = float(counts["seconds"])
    stat = _stat_seconds(paths)

    print(f"{len(paths):,} files, {size / 1e6:,.0f} MB")
    print_row("decode every line once", f"{decode:.2f} s")
    print_row("index", f"{build.seconds:.2f} s", Ratio(build.seconds / decode, 8, "the above"))
    print_memory("index, anonymous memory", build.peak, 400)
    print_row("packs", f"{packs / 1e6:.1f} MB", Ratio(packs / size, 0.12, "transcripts"))
    print_row("stat of every file", milliseconds(stat))
    print_row("index, nothing changed", milliseconds(no_op))
    print_row("  bytes parsed, objects added", f"{counts['bytes_parsed']}, {counts['new_objects']}")
    shutil.rmtree(store)


def _seconds(command: list[str]) -> float:
    return float(measure.run(command).output)


def _stat_seconds(paths: list[Path]) -> float:
    started = time.monotonic()
    for path in paths:
        path.stat()
    return time.monotonic() - started


if __name__ == "__main__":
    main()
