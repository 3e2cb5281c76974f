"""The MCP server: agents search past conversations with the same `ops` as the command line."""
