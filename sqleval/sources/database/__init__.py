"""Databases: which one a path or URL names, and what ADBC drivers read."""
