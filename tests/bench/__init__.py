"""Side-by-side benchmarks, run by command: absolute times depend on the machine, ratios less."""
