"""Binds columns to roles: names, types, expressions, and the reading of task and classes."""
