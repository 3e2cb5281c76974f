"""ccgrep: grep for a developer's history with coding agents."""

__version__ = "0.1.0"
