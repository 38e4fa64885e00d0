"""The shipped dialogs, a folder each."""
