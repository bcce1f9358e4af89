"""Which column plays which role: names, types, expressions, the reading of task and classes."""
