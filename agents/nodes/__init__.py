"""The nodes of the graph, by what they do."""
