"""What people read: sentences of our own, answers as doors show them, lists and cards as lines of text."""
