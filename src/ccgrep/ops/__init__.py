"""The use cases: what the command line and the MCP server can ask for.

Each takes a Config and plain values, and gives typed results. Nothing is printed here, and
nothing of the environment is read.
"""
