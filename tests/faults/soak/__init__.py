"""The soak: full load for a while, and what grows that should not. See `__main__`."""
