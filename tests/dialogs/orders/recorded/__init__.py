"""Recorded tasks of a shop, and a scripted clerk who serves its customers by them."""
