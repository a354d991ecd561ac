"""Layer 2: memories found by likeness and by word."""
