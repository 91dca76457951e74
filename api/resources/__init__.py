"""Falcon resources: one class per family of routes."""
