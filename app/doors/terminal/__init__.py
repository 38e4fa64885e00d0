"""The terminal: the line editor, the screens and the drawing of views."""
