"""Strict servers of language models, by kind of rule: each refuses what it does not take, in its own words."""
