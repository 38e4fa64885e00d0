"""The bot's own sentences, beside the assistant's: `prompts/<lang>/telegram/phrases.toml`."""

from functools import partial

from prompts import sentence

say = partial(sentence, "telegram/phrases")
"""Takes the key of a sentence, the language, and the sentence's variables."""
