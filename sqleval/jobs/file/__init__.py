"""The job file: its keys, its reader, and a template."""
