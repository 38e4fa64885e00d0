"""The shipped plug-ins, a folder each."""
