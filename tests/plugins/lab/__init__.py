"""The lab's functions and commands."""
