"""Workers: processes that play the turns which doors hand on, over one PostgreSQL database and its queue."""
