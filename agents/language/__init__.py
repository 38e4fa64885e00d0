"""Text in the languages that people speak: vocabulary, moments, identifiers, the ranking of tools."""
