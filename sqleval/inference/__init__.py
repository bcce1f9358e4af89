"""Statistical inference from small tables: tests, intervals of replicates, sample sizes."""
