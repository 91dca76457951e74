"""Response bodies that follow live generations."""
