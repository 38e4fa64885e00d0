"""The Telegram bot."""
