"""Splits of rows into training and test, and their checks."""
