"""Links of HELP_CHAIN that lead to another model and to another assistant."""
