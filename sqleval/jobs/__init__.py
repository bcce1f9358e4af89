"""Scheduled work: what is due, evaluated, kept and judged."""
