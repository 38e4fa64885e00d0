"""Conversations on a database of their own: tried out, played again, written as tests."""
