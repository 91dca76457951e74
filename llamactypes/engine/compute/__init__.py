"""From a configuration to a context, and plans carried out on it."""
