"""States: counts and sums per slice, period and score bin; they can be merged."""
