"""Security: keys, limits of rates, and the audit log."""
