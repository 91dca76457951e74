"""What was done, and how long it took. Pure."""
