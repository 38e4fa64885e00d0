"""Tests of the plug-in `audit`: the log of operators' deeds."""
