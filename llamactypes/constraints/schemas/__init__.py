"""JSON Schema: read, checked, and written in the part of it that can be honoured."""
