"""Runs the real Claude Code and Codex against stub model servers, and compares what ccgrep reads.

`sh scripts/clients` is the entry point. A scenario scripts what the user types and what the model
answers, so the expected sessions follow from the script alone.
"""
