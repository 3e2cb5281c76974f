"""Measures completion of live values with many sessions against starting Python.

python bench/completions.py [--sessions 10000]

Commands take turns, and figures are medians.
"""

import argparse
import os
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_row
from bench.generate import generate
from ccgrep.config import make_config
from ccgrep.ops.complete import complete
from ccgrep.ops.index import index
from ccgrep.ops.status import status

_MAX_RATIO = 3
_PYTHON = "python -c pass"
_BYTES_PER_SESSION = 2_700
_RUNS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=lambda text: int(float(text)), default=10_000)
    sessions = parser.parse_args().sessions
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        home = Path(directory)
        # One in fourteen generated main sessions is empty, as in real homes.
        files = sessions * 11 // 10
        generate(home, files * _BYTES_PER_SESSION, files, turns=files)
        environment = {**os.environ, "HOME": directory, "CCGREP_DIR": str(home / "store")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        config = make_config(environment)
        index(config)
        counts = status(config)
        print(f"{counts.sessions:,} sessions, {counts.turns:,} turns")
        session = complete(config, "session", "")[0].text
        values = [
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
        report(values, environment)


def report(values: list[tuple[str, str]], environment: dict[str, str]) -> None:
    script = str(Path(sys.executable).with_name("ccgrep"))
    commands = {_PYTHON: [sys.executable, "-c", "pass"]}
    commands |= {" ".join(value): [script, "__complete", *value] for value in values}
    cases = {name: partial(measure.run, command, environment) for name, command in commands.items()}
    medians = {
        name: statistics.median(run.seconds for run in runs)
        for name, runs in measure.run_interleaved(cases, _RUNS).items()
    }
    for name, seconds in medians.items():
        ratio = Ratio(seconds / medians[_PYTHON], _MAX_RATIO, _PYTHON)
        print_row(name, milliseconds(seconds), *([ratio] if name != _PYTHON else []))


if __name__ == "__main__":
    main()
