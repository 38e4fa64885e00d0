"""An answer that is stopped: what was shown is what is kept, and the conversation goes on."""
