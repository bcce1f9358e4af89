"""Alarms: tests that find slices which got worse over time, with few false alarms."""
