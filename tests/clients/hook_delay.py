"""Measures how long the session-end hook delays Claude Code: `python -m tests.clients.hook_delay`.

It runs `claude -p` 20 times with the hook and 20 times without it, in turn, and prints the medians.
After each run it waits for the hook's background process, which would slow down the next run. On a
busy machine the client's own time varies more than the hook takes. So it also runs the command of
the hook alone, beside an empty one. A delay is measurable if it exceeds the usual distance of a run
from the median.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.clients.install import install
from tests.clients.integration import SCRATCH, Integration
from tests.clients.script import turn

RUNS = 20
PROMPT = "hello wombat"


def measure(variants: dict[str, Callable[[], object]], rest: Callable[[], object]) -> None:
    """Run the variants in turn, and print how long each takes."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(RUNS):
        for name, run in variants.items():
            started = time.monotonic()
            run()
            seconds[name].append(time.monotonic() - started)
            rest()
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, times in seconds.items():
        print(f"{name}: median {medians[name]:.3f} s, fastest {min(times):.3f} s")
    (without, bare), (_, hooked) = medians.items()
    usual = statistics.median(abs(one - bare) for one in seconds[without])
    verdict = "measurable" if hooked - bare > usual else "ok, not measurable"
    print(f"difference {hooked - bare:+.3f} s, runs vary by {usual:.3f} s: {verdict}")


def main() -> int:
    clients = install(Path(os.environ.get("CCGREP_CLIENTS", SCRATCH)).absolute())
    one = Integration(clients, "integration-hook-delay", (turn(PROMPT, "Hello."),))
    one.claude(PROMPT)  # The first run writes caches.
    path = one.home / ".claude" / "settings.json"
    without = path.read_text()
    one.ccgrep("setup", "claude", "--hook")
    settings = path.read_text()
    command = json.loads(settings)["hooks"]["SessionEnd"][0]["hooks"][0]["command"]

    def run_client(text: str) -> None:
        path.write_text(text)
        one.claude(PROMPT)

    def ingest() -> None:
        one.ccgrep("index", "--quiet")

    shells = {"an empty command": ":", "the hook's command": command}
    measure({name: partial(one.run, "sh", "-c", text) for name, text in shells.items()}, ingest)
    texts = {"claude -p without the hook": without, "claude -p with the hook": settings}
    measure({name: partial(run_client, text) for name, text in texts.items()}, ingest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
