"""The lab: look at threads, try and judge conversations, mock tools, put agents together, teach. No door is in here."""
