"""Counts and figures that the docs claim."""
