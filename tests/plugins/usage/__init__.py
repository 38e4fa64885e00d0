"""The usage of models: counted by day, limited by day, listed."""
