"""Embeddings instead of text: what is asked, in which turn, and how it is computed."""
