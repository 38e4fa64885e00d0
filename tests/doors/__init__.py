"""The ways in: command line, terminal, Telegram, Studio."""
