"""Scheduled work: a job file says what is evaluated, period by period, and what must hold."""
