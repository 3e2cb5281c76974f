"""Formats results: text for people, record lines and JSON for programs."""
