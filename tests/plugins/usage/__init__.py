"""What models take: counted by day, limited by day, listed."""
