"""Tests of `sqleval.resampling`: draws, replicates and their intervals."""
