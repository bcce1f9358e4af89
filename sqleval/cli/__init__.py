"""The command line: parses arguments, calls the library, sets the exit code."""
