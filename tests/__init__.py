"""Tests, and the benchmarks beside them."""
