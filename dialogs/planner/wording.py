"""The planner's sentences, from `prompts/<lang>/planner/phrases.toml`."""

from functools import partial

from prompts import sentence

PHRASES = "planner/phrases"
said = partial(sentence, PHRASES)
"""Return the sentence `key` in a language, its `$variables` filled in."""
