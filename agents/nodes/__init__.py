"""The nodes of the graph, one file for each kind of node in the drawing."""
