"""Curves with bands from replicates, and curves of models compared."""
