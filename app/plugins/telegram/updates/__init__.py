"""What comes from Telegram: each update is stored, then done once."""
