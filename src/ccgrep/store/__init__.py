"""A git-like object store: objects in packs, snapshots of sessions, and one writer at a time."""
