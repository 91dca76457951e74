"""From pieces of tokens to text. Pure."""
