"""The command line: the commands by what they are about, and what several of them share."""
