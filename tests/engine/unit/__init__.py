"""Single modules."""
