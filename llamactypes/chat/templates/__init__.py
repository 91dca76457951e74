"""Jinja2 chat templates: the sandbox, its limits, and what a template understands."""
