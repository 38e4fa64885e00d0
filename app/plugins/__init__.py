"""Plug-ins, which an installation may leave out: each folder is one (`agents.plugin`), and nothing else imports it."""
