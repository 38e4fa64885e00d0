"""Tools that speakers can call: plain LangChain tools, one topic a file."""
