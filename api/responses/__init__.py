"""Responses while they are made and while they are kept."""
