"""OpenAI's newer format: requests, items and events of ``/v1/responses``. Pure."""
