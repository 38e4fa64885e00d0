"""The Telegram door."""
