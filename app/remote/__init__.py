"""Tools that are no functions here: HTTP services described in a file, and MCP servers."""
