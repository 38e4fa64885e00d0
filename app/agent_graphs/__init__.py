"""Agent graphs as dialogs: LangChain's `create_agent`, and any LangGraph graph over `messages`."""
