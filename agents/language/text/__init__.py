"""Words: stems, vocabulary and a full-text index."""
