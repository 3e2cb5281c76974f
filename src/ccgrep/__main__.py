"""`python -m ccgrep` is the `ccgrep` command."""

from ccgrep.cli import entry

entry()
