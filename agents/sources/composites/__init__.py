"""Composites: retrievers made of retrievers, as the setting SEARCH_SOURCES combines them."""
