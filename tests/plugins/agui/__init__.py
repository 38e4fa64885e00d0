"""Tests of the plug-in `agui`."""
