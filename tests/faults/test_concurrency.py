"""Writers and readers at the same time: one writes, the others wait or read a whole snapshot."""

import json
import subprocess
import sys
import time

from tests.homes import Home, assert_same_as_fresh

SECONDS = 8.0


def test_indexers_readers_and_gc_never_trip_over_each_other(home: Home) -> None:
    files = []
    for seed in range(6):
        file = home.claude(seed + 1)
        for number in range(3):
            file.turn(f"prompt {seed} {number}", "answer " * 200)
        file.write()
        files.append(file)
    home.index()
    commands = [["index", "-q"], ["index", "-q"], ["list", "--json"], ["show", files[0].id]]
    commands += [["list", "--json"], ["gc", "--json"]]
    done = [0] * len(commands)
    running: dict[int, subprocess.Popen[str]] = {}
    deadline = time.monotonic() + SECONDS
    turn = 0
    while time.monotonic() < deadline or running:
        turn += 1
        growing = files[turn % len(files)]
        growing.turn(f"more {turn}", "done")
        growing.append()
        for position, command in enumerate(commands):
            child = running.get(position)
            if child is not None and child.poll() is not None:
                output, errors = child.communicate()
                assert (child.returncode, errors) == (0, ""), command
                if command[0] == "list":
                    assert len(json.loads(output)["sessions"]) == len(files)
                done[position] += 1
                del running[position]
            if position not in running and time.monotonic() < deadline:
                running[position] = subprocess.Popen(
                    [sys.executable, "-m", "ccgrep", *command],
                    env=home.environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
        time.sleep(0.01)
    assert min(done) > 2
    home.index()
    assert_same_as_fresh(home)
    print(f"{sum(done)} commands side by side in {SECONDS:.0f} s, 0 errors, = fresh")
