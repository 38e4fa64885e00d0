"""The command line: the commands by subject, and their common parts."""
