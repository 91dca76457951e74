"""What a chat model writes, and how it is read: formats in, pieces out. Pure."""
