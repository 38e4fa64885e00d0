"""A provider that fails in every way, over real HTTP: each turn ends in an answer or an honest error."""
