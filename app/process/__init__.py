"""The parts around the process: tasks and signals, the log, files that a crash leaves whole."""
