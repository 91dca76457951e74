"""Embeddings and reranking. Pure."""
