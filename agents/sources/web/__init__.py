"""The web: which addresses may be reached, fetching within bounds, the text of pages."""
