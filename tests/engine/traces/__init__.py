"""Conversations and their traces, one story a file."""
