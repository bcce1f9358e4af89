"""Curves: adds bands from replicates, and compares curves of models."""
