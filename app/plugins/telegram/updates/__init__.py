"""The updates from Telegram: each is stored, then done once."""
