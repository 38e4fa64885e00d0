"""Texts for people: sentences of our own, answers for doors, lists and cards as lines of text."""
