"""Reads the transcripts of Claude Code and Codex, which are untrusted, and returns turns."""
