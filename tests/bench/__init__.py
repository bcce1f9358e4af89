"""Side-by-side benchmarks, run by command. Ratios depend less on the machine than times do."""
