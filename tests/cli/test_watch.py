"""ccgrep index --watch takes in what changes, in the foreground, until it is interrupted."""

import signal
import subprocess
import sys
import time

from tests.helpers.homes import Home, assert_same_as_fresh

FRESH_S = 3.0


def wait_for(home: Home, word: str, seconds: float) -> None:
    """Waits until a search that looks for nothing new finds the word."""
    deadline = time.monotonic() + seconds
    while home.run("--no-refresh", "-q", word).returncode != 0:
        assert time.monotonic() < deadline, f"{word} is not indexed after {seconds} s"


def test_watch_takes_in_what_changes_until_it_is_interrupted(home: Home) -> None:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    watcher = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", "index", "--watch", "--no-embed"],
        env=home.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(home, "zebra", 20)
    file.turn("and the okapi", "there too")
    file.append()
    wait_for(home, "okapi", FRESH_S)
    new = home.claude(2, slug="-home-sam-src-farm", cwd="/home/sam/src/farm")
    new.turn("a tapir", "is shy")
    new.write()
    wait_for(home, "tapir", FRESH_S)
    watcher.send_signal(signal.SIGINT)
    out, error = watcher.communicate(timeout=10)
    assert (watcher.returncode, out) == (130, "")
    assert error.splitlines()[1:] == [
        "watching for changes",
        "ccgrep: interrupted; everything committed is kept",
    ]
    assert_same_as_fresh(home)
