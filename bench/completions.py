"""How long does TAB take? Live values of a home of many sessions, against starting Python.

python bench/completions.py [--sessions 10000]

Commands take turns, and a figure is the median; the budget is three times `python -c pass`.
"""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.generate import generate
from ccgrep.config import make_config
from ccgrep.ops.complete import complete
from ccgrep.ops.index import index
from ccgrep.ops.status import status

_BUDGET = 3.0
_BYTES_PER_SESSION = 2_700
_TIMES = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=lambda text: int(float(text)), default=10_000)
    sessions = parser.parse_args().sessions
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        home = Path(directory)
        # One in fourteen main sessions of real homes says nothing.
        files = sessions * 11 // 10
        generate(home, files * _BYTES_PER_SESSION, files, turns=files)
        environment = {**os.environ, "HOME": directory, "CCGREP_DIR": str(home / "store")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        config = make_config(environment)
        index(config)
        found = status(config)
        print(f"{found.sessions:,} sessions, {found.turns:,} turns")
        session = complete(config, "session", "")[0].text
        asked = [
            ("session", ""),
            ("session", session[:1]),
            ("ref", session),
            ("ref", f"{session}:"),
            ("ref", "@"),
            ("project", ""),
            ("tool", ""),
            ("branch", ""),
            ("model", ""),
        ]
        report(asked, environment)


def report(asked: list[tuple[str, str]], environment: dict[str, str]) -> None:
    script = str(Path(sys.executable).with_name("ccgrep"))
    commands = {("python", "-c pass"): [sys.executable, "-c", "pass"]}
    commands |= {one: [script, "__complete", *one] for one in asked}
    times: dict[tuple[str, str], list[float]] = {one: [] for one in commands}
    for _ in range(_TIMES):
        for one, command in commands.items():
            times[one].append(measure.run(command, environment).seconds)
    start = statistics.median(times["python", "-c pass"])
    for one, taken in times.items():
        median = statistics.median(taken)
        note = "" if median <= _BUDGET * start else f"  over {_BUDGET:g} ×"
        print(f"{' '.join(one):30} {median * 1000:7.1f} ms  {median / start:5.2f} ×{note}")


if __name__ == "__main__":
    main()
