"""Real servers, Valkey and PostgreSQL, that start with the program and ask for nothing to be installed."""
