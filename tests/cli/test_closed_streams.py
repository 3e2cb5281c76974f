"""Closed and full streams."""

import os
import subprocess
import sys

from tests.helpers.homes import Home
from tests.helpers.stored import write_session


def test_closed_and_full_streams_cause_no_traceback(home: Home) -> None:
    file = write_session(home)
    home.index()
    run = f"{sys.executable} -m ccgrep"
    for line, code in (
        *([(f"{run} list >/dev/full", 2)] if os.path.exists("/dev/full") else []),
        (f"{run} list >&-", 2),
        (f"{run} -q zebra >&-", 1),
        (f"{run} show - <&-", 2),
        (f"{run} show {file.id} 2>&-", 0),
    ):
        done = subprocess.run(
            ["bash", "-c", line],
            env=home.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), line
