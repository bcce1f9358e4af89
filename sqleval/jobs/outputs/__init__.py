"""Writes and sends the outputs of a run: results for programs, a report, exports, messages."""
