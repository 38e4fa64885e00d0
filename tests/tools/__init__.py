"""The command `tools`."""
