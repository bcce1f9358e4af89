"""SQL for elsewhere: other dialects, and DuckDB macros."""
