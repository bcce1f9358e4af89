"""The only modules that execute SQL."""
