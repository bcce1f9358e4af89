"""One page about predictions, without a job: numbers, quality, curves, slices, thresholds."""
