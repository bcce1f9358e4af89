"""Splits rows into training and test, and checks splits."""
