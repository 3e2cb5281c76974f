"""`ccgrep index --watch` ingests changes until it is interrupted."""

import signal
import subprocess
import sys

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.terminal import WAIT_S, wait_until


def wait_for_word(home: Home, word: str) -> None:
    wait_until(
        lambda: home.run("--no-refresh", "-q", word).returncode == 0, f"{word} is not indexed"
    )


def test_watch_ingests_changes_until_it_is_interrupted(home: Home) -> None:
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
    wait_for_word(home, "zebra")
    file.turn("and the okapi", "there too")
    file.append()
    wait_for_word(home, "okapi")
    new = home.claude(2, slug="-home-sam-src-farm", cwd="/home/sam/src/farm")
    new.turn("a tapir", "is shy")
    new.write()
    wait_for_word(home, "tapir")
    watcher.send_signal(signal.SIGINT)
    out, error = watcher.communicate(timeout=WAIT_S)
    assert (watcher.returncode, out) == (130, "")
    assert error.splitlines()[1:] == [
        "watching for changes",
        "ccgrep: interrupted; everything committed is kept",
    ]
    assert_same_as_fresh(home)
