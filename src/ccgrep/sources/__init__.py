"""Reads the history of agents, which is untrusted, and returns turns."""
