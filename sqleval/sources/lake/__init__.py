"""Tables of lakes: Delta, Iceberg, Lance and DuckLake."""
