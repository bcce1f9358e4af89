"""Scheduled jobs: evaluate new periods, keep the results, judge them by gates."""
