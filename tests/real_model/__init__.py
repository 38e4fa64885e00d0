"""Conversations with a real language model on a real server, both from outside the project."""
