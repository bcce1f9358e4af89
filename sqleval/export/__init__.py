"""SQL to run elsewhere: other dialects, DuckDB macros, a dbt package."""
