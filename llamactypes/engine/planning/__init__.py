"""Who is computed next, and how much of it: plain values in, plans out. Pure."""
