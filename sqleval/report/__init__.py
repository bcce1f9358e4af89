"""A page about predictions, without a job: the better model, numbers, data, curves, slices."""
