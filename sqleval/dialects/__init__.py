"""The SQL of other engines: checks portable SQL, and rewrites statements for each dialect."""
