"""Words: stems, phrase lists, vocabulary and a full-text index."""
