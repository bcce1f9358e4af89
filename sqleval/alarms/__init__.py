"""Alarms: which slices got worse over time, by tests that keep false alarms rare."""
