"""The HTTP door: `python -m app serve`; docs/http.md describes its paths."""
