"""Promises of the repository as a whole: layers, prompts, docs, settings."""
