"""The Polars front door: `scan`, `Predictions` and lazy results."""
