"""The web: permitted addresses, fetching within bounds, the text of pages."""
