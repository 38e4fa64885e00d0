"""Pushes of the memory of stopped threads."""
