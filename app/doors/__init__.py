"""The doors: the terminal, HTTP, Studio; each knows only the `Assistant`, and what doors share."""
