"""What happens to every request before its route, and what it may take."""
