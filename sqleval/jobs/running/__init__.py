"""Runs a job: decides which periods are due, evaluates them, writes results and notes."""
