"""The tools of the player. Whose profile it is, and what its age limit is, are trusted values."""
