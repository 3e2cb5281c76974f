"""Measures how long the session-end hook delays Claude Code: `python -m tests.clients.hook_delay`.

It runs `claude -p` 20 times with the hook and 20 times without it, in turn, and prints the medians.
After each run it waits for the hook's background process, which would slow down the next run.
"""

import os
import statistics
import sys
import time
from pathlib import Path

from tests.clients.install import install
from tests.clients.integration import SCRATCH, Integration
from tests.clients.script import turn

RUNS = 20
PROMPT = "hello wombat"


def main() -> int:
    clients = install(Path(os.environ.get("CCGREP_CLIENTS", SCRATCH)).absolute())
    one = Integration(clients, "integration-hook-delay", (turn(PROMPT, "Hello."),))
    one.claude(PROMPT)  # The first run writes caches.
    settings = one.home / ".claude" / "settings.json"
    without = settings.read_text()
    one.ccgrep("setup", "claude", "--hook")
    variants = {"without": without, "with": settings.read_text()}
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(RUNS):
        for name, text in variants.items():
            settings.write_text(text)
            started = time.monotonic()
            one.claude(PROMPT)
            seconds[name].append(time.monotonic() - started)
            one.ccgrep("index", "--quiet")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, times in seconds.items():
        print(f"{name} the hook: median {medians[name]:.3f} s, fastest {min(times):.3f} s")
    print(f"difference of the medians: {(medians['with'] - medians['without']) * 1000:+.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
