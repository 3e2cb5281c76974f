"""`python -m ccgrep` is the `ccgrep` command."""

import sys

if not sys.flags.safe_path:
    # Python puts the current directory first: a json.py there must not replace the standard one.
    del sys.path[0]

from ccgrep.cli import entry

entry()
