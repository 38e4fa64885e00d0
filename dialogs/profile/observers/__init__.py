"""The observers of the profile."""
