"""What the repository promises as a whole: layers, prompts, docs, settings."""
