"""Keeps the store up to date with the transcripts."""
