"""Files beside a message: what they say and show."""
