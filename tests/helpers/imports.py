"""The modules that a command imports."""

import subprocess
import sys

from tests.helpers.homes import Home

_PROBE = """
import sys
from ccgrep.cli import main
code = main(sys.argv[1:])
sys.stdout.flush()
print("\\n".join(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def imported_modules(home: Home, *arguments: str) -> set[str]:
    """Run a command in a new process and return the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, *arguments],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.split())
