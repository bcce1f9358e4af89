"""Judges the results of a job: gates, missing data, drift, incidents."""
