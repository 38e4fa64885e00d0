"""Tests of the plug-in `studio`."""
