"""Compiles metrics and an input into one SQL statement."""
