"""Tests of the pages' common parts."""
