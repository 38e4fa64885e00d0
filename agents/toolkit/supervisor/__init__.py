"""The tools that the supervisor has in every application."""
