"""The first look at a source: its columns, their probable roles, problems, a command to run."""
