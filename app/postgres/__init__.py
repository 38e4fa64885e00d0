"""The conversations in a PostgreSQL database, which many processes on many machines share."""
