"""Stored data stays, deleted data is gone, and nothing is written twice."""
