"""The REPL and what it draws."""
