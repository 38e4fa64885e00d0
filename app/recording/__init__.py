"""Records of turns, and tools that answer from a record."""
