"""OpenAI's API in front of the assistant."""
