"""What a tool is: its traits, its card, its result, and how it is run."""
