"""Truth without a model: which memory tells a thing anew, and what it takes the place of."""
