"""What a run writes: results for programs, a report, exports."""
