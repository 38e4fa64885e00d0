"""The profile: what is told, noted, shown, exported and deleted."""
