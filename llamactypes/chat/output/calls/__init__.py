"""How the tool calls of a turn are read, in each form that models write. Pure."""
