"""The engine, with the shipped dialogs or with dialogs of its own."""
