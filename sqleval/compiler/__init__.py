"""Metrics and an input become one SQL statement."""
