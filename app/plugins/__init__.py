"""What an installation may leave out, each in a folder of its own."""
