"""Delivery to Telegram: messages, drafts, pictures and files, in pages and within its limits."""
