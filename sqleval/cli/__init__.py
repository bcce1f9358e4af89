"""The command line: parse, call, set the exit code."""
