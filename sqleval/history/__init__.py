"""Histories: the stores that keep the results of jobs, and functions that read them."""
