"""The life of the process: listen, load, serve, stop."""
