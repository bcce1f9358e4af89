"""The Polars interface: `scan`, `Predictions` and lazy results."""
