"""A conversation's way to its answer: prompt, format, and what must be written."""
