"""The shop: talks with its customers, attacks on it, its recorded tasks."""
