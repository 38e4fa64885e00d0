"""The page at `/`: people talk here in a browser. The server draws it; htmx swaps in what an answer adds."""
