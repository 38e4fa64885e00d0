"""A person in the assistant's place, over HTTP: the paths for programs, and the pages at `/seat`."""
