"""The doors: Telegram, the terminal, Studio; each knows only the `Assistant`, and what doors share."""
