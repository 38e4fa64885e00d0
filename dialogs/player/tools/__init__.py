"""The tools of the player. The profile and its age limit are trusted values."""
