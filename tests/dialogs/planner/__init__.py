"""Reminders: when they ring, what the tools on them answer, how they are told."""
