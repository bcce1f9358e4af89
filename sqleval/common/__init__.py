"""Helpers that do not depend on metrics: names, SQL text, columns, periods, files, imports."""
