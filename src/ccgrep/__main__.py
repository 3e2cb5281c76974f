"""`python -m ccgrep` is the `ccgrep` command."""

import sys

if not sys.flags.safe_path:
    # Where it is run, which Python puts first: a json.py that lies there is none of ours.
    del sys.path[0]

from ccgrep.cli import entry

entry()
