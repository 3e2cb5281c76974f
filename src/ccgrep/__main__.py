"""`python -m ccgrep` is the `ccgrep` command."""

import sys

from ccgrep.cli import main

sys.exit(main())
