"""The dialog `research` and its searches."""
