"""Tests of `sqleval.comparison`: differences of models, their tests and verdicts."""
