"""What an installation may leave out: each folder is a plug-in (`agents.plugin`), and nothing else imports it."""
