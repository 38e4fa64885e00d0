"""A conversation exported: to be read, as JSON, and as a test that plays it again."""
