"""The SQL of other engines: what they have in common, and statements rewritten for each."""
