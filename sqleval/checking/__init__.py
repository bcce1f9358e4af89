"""Checks the properties of metrics and curves on generated rows."""
