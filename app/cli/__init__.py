"""The command line: one file for each command, and what several commands share."""
