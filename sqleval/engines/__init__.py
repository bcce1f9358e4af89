"""Engines run a statement and give Arrow."""
