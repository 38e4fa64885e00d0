"""The conversation engine: state, events, speakers, handoffs, models, tools, memory."""
