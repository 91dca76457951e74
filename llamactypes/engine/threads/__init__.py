"""How many threads compute: chosen at start, adapted later."""
