"""Remotes: storage that several machines share, described in docs/remotes.md."""
