"""The rule-based model, spoken to as a new user would, in both languages."""
