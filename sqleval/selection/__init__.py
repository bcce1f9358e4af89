"""Choosing among models by their folds."""
