"""Remote tools: their files, what they may reach, and the servers that tests talk to."""
