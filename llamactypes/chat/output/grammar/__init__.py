"""Grammars of what a model may write in its turn: formats and tools in, Lark out."""
