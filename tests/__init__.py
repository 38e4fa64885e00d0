"""Tests: traces first."""
