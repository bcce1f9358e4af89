"""Charts of curves."""
