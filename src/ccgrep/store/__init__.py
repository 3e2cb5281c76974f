"""A git-like object database: bytes in, bytes out."""
