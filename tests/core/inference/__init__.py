"""Tests of `sqleval.inference`, and how those with random inputs run."""

from hypothesis import settings

#: The first example imports SciPy, and tests share the cores: no deadline.
patient = settings(deadline=None, derandomize=True, database=None)
