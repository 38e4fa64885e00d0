"""Tools for requests: a ranker and shortcuts, trained from the tools' cards without any download."""
