"""Engines run a statement and return Arrow."""
