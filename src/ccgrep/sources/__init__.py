"""Untrusted bytes to turns: the transcripts of Claude Code and Codex."""
