"""Databases: finds the one that a path or URL names, and reads its tables by ADBC drivers."""
