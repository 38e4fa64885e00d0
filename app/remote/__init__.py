"""What lies beyond this process: tools of HTTP services and MCP servers, described in files, and links of help."""
