"""Layer 3: entities, the facts between them, and when each held."""
