"""The bootstrap: replicates of a sample, drawn from counts of equal rows, and their intervals."""
