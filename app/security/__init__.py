"""Who may do what, who did what, and how the files of the database are kept secret."""
