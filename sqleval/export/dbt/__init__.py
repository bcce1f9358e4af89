"""A dbt package from the SQL files: macros, a history model, and gates as tests."""
