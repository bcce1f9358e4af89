"""Inspects a source: its columns, their probable roles, problems, and a command to run."""
