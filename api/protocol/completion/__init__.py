"""Texts that go on: native, OpenAI's legacy format, infill. Pure."""
