"""Common parts of pages in a browser: visitors, HTML, and a conversation on a page."""
