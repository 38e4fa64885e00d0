"""`ring`: reminders while no conversation is open."""
