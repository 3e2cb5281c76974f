"""The MCP server: an agent asks the same questions as the command line, over `ops`."""
