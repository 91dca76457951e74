"""Anthropic's format: requests, replies and errors of ``/v1/messages``. Pure."""
