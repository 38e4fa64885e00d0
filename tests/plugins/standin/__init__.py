"""The model of rules."""
