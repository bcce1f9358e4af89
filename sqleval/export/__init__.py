"""SQL for elsewhere: other dialects, DuckDB macros, a dbt package."""
