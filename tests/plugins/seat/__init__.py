"""A person in the assistant's place."""
