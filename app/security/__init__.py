"""Security: keys and permissions, limits of rates, and the audit log."""
