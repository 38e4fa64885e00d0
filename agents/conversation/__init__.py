"""The rules of the conversation: pure functions on the state, and the prompts from it."""
