"""The doors: the terminal and HTTP; each knows only the `Assistant`, and the common parts of doors."""
