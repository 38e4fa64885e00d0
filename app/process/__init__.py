"""What the process has around it: tasks and signals, the log, files that a crash leaves whole."""
