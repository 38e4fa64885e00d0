"""A lower bound of a text's tokens, without a tokenizer's vocabulary, which would need a download."""

import re

# The published pattern by which cl100k cuts a text before anything is merged; `\p{L}` and `\p{N}` as `re` has them.
LETTER, SIGN = r"[^\W\d_]", r"(?:[^\s\w]|_)"
PIECE = re.compile(
    r"(?i:'(?:s|t|re|ve|m|ll|d))"
    rf"|(?:[^\r\n\w]|_)?{LETTER}+"
    r"|\d{1,3}"
    rf"| ?{SIGN}+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)


def least_tokens(text: str) -> int:
    """Return the number of a text's pieces; each is one token or more, so this is a lower bound."""
    return sum(1 for _ in PIECE.finditer(text))
