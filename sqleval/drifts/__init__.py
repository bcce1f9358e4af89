"""Drift: how far the distributions of two samples lie apart, from rows or states."""
