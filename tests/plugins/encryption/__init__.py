"""The key of the database file."""
