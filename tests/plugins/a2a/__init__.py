"""Tests of the plug-in `a2a`."""
