"""The outputs of a run: results for programs, a report, exports."""
