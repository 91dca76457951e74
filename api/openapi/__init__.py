"""The description of the HTTP API, made from its routes and the tables they read by."""
