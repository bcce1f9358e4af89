"""Comparison of models: differences with intervals, tests, and a verdict in words."""
