"""Statistical inference from small tables: tests, intervals from replicates, sample sizes."""
