"""Takes what changed in the source files into the store, and keeps derived data."""
