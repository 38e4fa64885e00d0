"""The commands `setup`, `demo` and `new`."""
