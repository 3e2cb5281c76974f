"""Rebuild: makes transcripts from stored turns, which the clients can resume."""
