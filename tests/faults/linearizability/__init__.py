"""Is the board linearizable? Histories of concurrent clients, and a checker. See `__main__`."""
