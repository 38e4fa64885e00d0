"""Real processes: kills, restarts, terminals."""
