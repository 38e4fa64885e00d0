"""Search: retrievers, composites, documents of one's own, and fetching."""
