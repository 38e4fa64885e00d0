"""What thinks: state, events, speakers, hand-over, models, tools, memory."""
