"""The job file: its keys, how it is read, one to start from."""
