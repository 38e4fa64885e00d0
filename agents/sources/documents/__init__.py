"""Documents of one's own: files read as sections, and the full-text index that finds them."""
