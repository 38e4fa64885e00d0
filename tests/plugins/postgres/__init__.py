"""PostgreSQL in place of a file, and workers who play the turns of doors."""
