"""A shop for tools to work on, and recorded tasks to replay."""
