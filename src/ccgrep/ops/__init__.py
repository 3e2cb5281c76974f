"""The verbs that the command line and the MCP server share: one module each.

Each takes a Config and plain values and returns typed results. Nothing here prints or reads the
environment, and no module imports another one of this package.
"""
