"""Request and reply shapes of the HTTP API: pure, from JSON to values and back."""
